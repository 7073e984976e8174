// Experiment largest_batch: how much larger may a batch be in half precision, in the memory that a process takes in float? Trains and
// draws in separate processes and reads the peaks that the system reports for them.
#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "harness/records/input.h"
#include "labs/radiance/claims/own_folder.h"
#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/run/apart.h"

namespace klab::learning::largest_batch_claim {
namespace {

const Claim kDoubles{
    .id = "largest_batch.doubles",
    .said = "in the memory of a process in float, half precision allows a batch of twice the size",
    .source = "plan",
    .metric = "largest batch in half precision within the peak of a process in float, over its batch",
    .rule = at_least(2),
    .on = "what fills the memory"};
const Claim kHalves{.id = "largest_batch.halves",
                    .said = "half precision takes a process from 16 GB to 8 GB, half of its memory",
                    .source = "plan",
                    .metric = "peak of a process in half precision over that in float, equal batches",
                    .rule = at_most(0.6),
                    .on = "what fills the memory"};

namespace fs = std::filesystem;

/// A kind of process, with the batch of its process in float.
struct Job {
  std::string name;
  int64_t batch;
  std::function<int64_t(const std::string& precision, int64_t batch)> peak;  // bytes
};

class Processes {
 public:
  explicit Processes(uint64_t seed) : seed_(seed) {}

  /// Returns the peak of one step of a training with this many samples.
  int64_t train(const std::string& precision, int64_t samples) {
    const std::string name = fmt::format("train_{}_{}", precision, samples);
    if (const auto known = peaks_.find(name); known != peaks_.end()) return known->second;
    const fs::path config = path(name + ".json");
    std::ofstream(config) << nlohmann::json{{"batch_samples", samples}, {"first_rays", 64}, {"grid", 32}};
    run({"klab",  "train",     "built-in",    "--downscale", "25",     "--config",
         config,  "--plan",    "last",        "--threads",   "1",      "--steps",
         "1",     "--no-eval", "--precision", precision,     "--seed", std::to_string(seed_),
         "--out", path(name)},
        name);
    return peaks_[name] = read_json_file(path(name + "/result.json")).at("peak_memory").get<int64_t>();
  }

  /// Returns the peak of a picture of the model that train() left with this precision and batch.
  int64_t draw(const std::string& model, const std::string& precision, int64_t pixels) {
    const std::string name = fmt::format("draw_{}_{}", precision, pixels);
    if (const auto known = peaks_.find(name); known != peaks_.end()) return known->second;
    run({"klab", "render", path(model), "--size", "128", "--plan", "last", "--threads", "1", "--precision",
         precision, "--batch", std::to_string(pixels), "--out", path(name)},
        name);
    const std::string text = read_input(path(name + ".log"));
    std::smatch found;
    if (!std::regex_search(text, found, std::regex("memory +([0-9.]+) MB at most")))
      throw std::runtime_error("klab render did not print its memory: " + text);
    return peaks_[name] = int64_t(1e6 * std::stod(found[1].str()));
  }

 private:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void run(const std::vector<std::string>& command, const std::string& name) {
    const fs::path log = path(name + ".log");
    if (const int code = run_apart(command, log, true); code != 0)
      throw std::runtime_error(
          fmt::format("klab {} {} ended with exit code {}: {}", command[1], name, code, read_input(log)));
  }
  OwnFolder folder_;
  uint64_t seed_;
  std::map<std::string, int64_t> peaks_;  // of what has run
};

/// Returns the largest batch in half precision whose process stays within `peak`, to a sixteenth. Looks between an eighth and eight
/// times of the job's batch.
int64_t largest(const Job& job, int64_t peak) {
  int64_t fits = job.batch / 8, too_much = 8 * job.batch;
  if (job.peak("f16", too_much) <= peak) return too_much;
  if (job.peak("f16", job.batch) <= peak)
    fits = job.batch;
  else
    too_much = job.batch;
  while (16 * (too_much - fits) > fits && too_much - fits > 1) {
    const int64_t middle = (fits + too_much) / 2;
    (job.peak("f16", middle) <= peak ? fits : too_much) = middle;
  }
  return fits;
}

Outcome run(uint64_t seed) {
  Outcome out{
      .heads = {"process", "batch in float", "peak", "peak in halves", "largest batch in halves", "times"},
      .x = "batch",
      .y = "peak, MB",
      .log_x = true};
  Processes processes(seed);
  const auto drawn = [&](const std::string& precision, int64_t pixels) {
    return processes.draw("train_f32_8192", precision, pixels);
  };
  const std::vector<Job> jobs = {
      {"a training: table, masters and moments", 8192,
       [&](const std::string& precision, int64_t samples) { return processes.train(precision, samples); }},
      {"a picture, few pixels at a time: the table", 512, drawn},
      {"a picture, many pixels at a time: values of samples", 8192, drawn}};
  std::vector<ClaimRow> doubles, halves;
  std::string because;
  for (const Job& job : jobs) {
    const int64_t peak = job.peak("f32", job.batch), half = job.peak("f16", job.batch),
                  most = largest(job, peak);
    const double times = double(most) / double(job.batch);
    out.rows.push_back({job.name, std::to_string(job.batch), fmt::format("{:.0f} MB", double(peak) * 1e-6),
                        fmt::format("{:.0f} MB", double(half) * 1e-6), std::to_string(most),
                        fmt::format("{:.2f}", times)});
    out.curves.push_back({job.name + ", float", {{double(job.batch), double(peak) * 1e-6}}});
    out.curves.push_back({job.name + ", halves",
                          {{double(job.batch), double(half) * 1e-6}, {double(most), double(peak) * 1e-6}}});
    doubles.push_back({job.name, {times}});
    halves.push_back({job.name, {double(half) / double(peak)}});
    because += fmt::format("{}{}: {:.2f} times the batch, {:.0f} % of the peak", because.empty() ? "" : "; ",
                           job.name, times, 100 * double(half) / double(peak));
  }
  out.decided = {decide(kDoubles, doubles, because), decide(kHalves, halves, because)};
  return out;
}

const ExperimentRegistrar registrar(
    {"largest_batch",
     "The largest batch in half precision within the memory of a process in float",
     run,
     nullptr,
     {kDoubles, kHalves}});

}  // namespace
}  // namespace klab::learning::largest_batch_claim
