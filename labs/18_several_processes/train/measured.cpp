#include "labs/18_several_processes/train/measured.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "labs/radiance/field/config.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/run/apart.h"
#include "labs/radiance/run/stop.h"

namespace klab::scaling {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string program() { return fs::read_symlink("/proc/self/exe").string(); }

double stage(const json& result, const char* name) {
  const json& stages = result.at("stages");
  return stages.contains(name) ? stages.at(name).at("seconds").get<double>() : 0.0;
}

Run run_from(const Setup& setup, const fs::path& folder) {
  const fs::path file = folder / "result.json";
  const json r = read_json_file(file);
  try {
    Run run{.setup = setup, .steps = r.at("steps").get<double>()};
    run.seconds = r.at("seconds_training").get<double>() / run.steps;
    run.samples_per_second = r.at("samples_per_second").get<double>();
    run.bytes_sent = r.at("bytes_sent_per_step").get<double>();
    run.sharing =
        (stage(r, "sum over ranks") + stage(r, "parameters of ranks") + stage(r, "occupancy of ranks")) /
        run.steps;
    run.optimizer = (stage(r, "adam") + stage(r, "clear gradients") + stage(r, "ema")) / run.steps;
    run.grid = stage(r, "occupancy") / run.steps;
    run.touched = r.at("touched_share").get<double>();
    run.touched_by_any = r.at("touched_by_any_share").get<double>();
    return run;
  } catch (const json::exception& e) {
    throw std::runtime_error(
        fmt::format("{}: is no result of such a run ({}); remove the folder", file.string(), e.what()));
  }
}

/// Writes a config with the batch of this setup.
fs::path config_for(const What& what, const Setup& setup) {
  Config config;
  if (!what.config.empty()) config = config_from_json(read_input(what.config), what.config);
  config.batch_samples = int64_t(double(config.batch_samples) * setup.batch);
  config.first_rays = std::max<int64_t>(1, int64_t(double(config.first_rays) * setup.batch));
  const fs::path file = what.out / (setup.name + ".json");
  write_file(file, config_to_json(config));
  return file;
}

}  // namespace

void require_mpi() {
  std::error_code error;
  if (!fs::exists(fs::path(program()).parent_path() / "libklab_mpi.so", error))
    throw std::runtime_error(
        "this klab was built without MPI: install libmpich-dev or libopenmpi-dev and build it again");
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((fs::path(folder) / "mpirun").c_str(), X_OK) == 0) return;
  throw std::runtime_error("mpirun is not in PATH: install mpich or openmpi-bin");
}

std::vector<Setup> setups() {
  std::vector<Setup> list = {
      {.name = "one"}, {.name = "one_half", .batch = 0.5}, {.name = "one_two_threads", .threads = 2}};
  for (const char* way : {"dense", "sharded", "touched"}) {
    list.push_back({.name = std::string("strong_") + way, .ranks = 2, .exchange = way});
    list.push_back({.name = std::string("weak_") + way, .ranks = 2, .batch = 2, .exchange = way});
  }
  return list;
}

Run train(const What& what, const Setup& setup) {
  const fs::path folder = what.out / setup.name, log = what.out / (setup.name + ".log");
  std::error_code error;
  if (fs::exists(folder / "result.json", error)) {
    Run run = run_from(setup, folder);
    if (run.steps >= double(what.steps)) return run;
  }
  fs::remove_all(folder, error);  // left by a run that was killed, or was shorter
  std::vector<std::string> command;
  if (setup.ranks > 1) command = {"mpirun", "-n", std::to_string(setup.ranks)};
  for (const std::string& word :
       {program(), std::string("train"), what.scene, std::string("--downscale"),
        std::to_string(what.downscale), std::string("--steps"), std::to_string(what.steps),
        std::string("--no-eval"), std::string("--config"), config_for(what, setup).string(),
        std::string("--plan"), what.plan, std::string("--threads"), std::to_string(setup.threads),
        std::string("--seed"), std::to_string(what.seed), std::string("--out"), folder.string()})
    command.push_back(word);
  if (setup.ranks > 1) {
    command.emplace_back("--exchange");
    command.push_back(setup.exchange);
  }
  const int code = run_apart(command, log, true);
  if (stop_requested || code == 130)
    throw std::runtime_error("interrupted: the same command continues from what is there");
  if (code != 0)
    throw std::runtime_error(
        fmt::format("{} ended with exit code {}: see {}", setup.name, code, log.string()));
  return run_from(setup, folder);
}

std::vector<Message> messages_between() {
  using Clock = std::chrono::steady_clock;
  Ranks& ranks = Ranks::here();
  if (ranks.size() != 2) throw std::runtime_error("messages are measured between two ranks: mpirun -n 2");
  constexpr int kRounds = 30;
  std::vector<Message> list;
  for (int64_t bytes = 8; bytes <= int64_t(1) << 24; bytes *= 8) {
    std::vector<char> out(size_t(bytes), 1), in(size_t(bytes), 0);
    const auto turn = [&](int sender) {
      const bool mine = ranks.rank() == sender;
      std::vector<Piece> to(2), from(2);
      to[size_t(1 - sender)].bytes = mine ? bytes : 0;
      from[size_t(sender)].bytes = mine ? 0 : bytes;
      ranks.all_to_all(out.data(), to, in.data(), from);
    };
    std::vector<double> seconds;
    for (int round = -3; round < kRounds; ++round) {
      const auto begin = Clock::now();
      turn(0);
      turn(1);
      const double both = std::chrono::duration<double>(Clock::now() - begin).count();
      if (round >= 0) seconds.push_back(both / 2);
    }
    // The fastest round: other load can only make a message slower.
    list.push_back({double(bytes), *std::ranges::min_element(seconds)});
  }
  return list;
}

std::vector<Message> measure_messages(const fs::path& out) {
  const fs::path file = out / "messages.json", log = out / "messages.log";
  std::error_code error;
  if (!fs::exists(file, error)) {
    const int code =
        run_apart({"mpirun", "-n", "2", program(), "scaling", "--messages", file.string()}, log, true);
    if (code != 0)
      throw std::runtime_error(fmt::format("two ranks ended with exit code {}: see {}", code, log.string()));
  }
  std::vector<Message> list;
  try {
    for (const json& m : read_json_file(file)) list.push_back({m.at(0).get<double>(), m.at(1).get<double>()});
  } catch (const json::exception&) {
    list.clear();
  }
  if (list.size() < 2)
    throw std::runtime_error(file.string() +
                             ": holds no times of messages; remove it, and they are measured again");
  return list;
}

}  // namespace klab::scaling
