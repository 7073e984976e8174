#include "harness/cli/check_apart.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "harness/check/failure_json.h"
#include "harness/cli/command.h"
#include "harness/core/source.h"
#include "harness/step/process.h"

namespace klab {
namespace {

std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("its process was ended by {}", strsignal(WTERMSIG(status)));
  // If a shell ran the process, exit codes above 128 are signals.
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code > 128) return fmt::format("its process was ended by {}", strsignal(code - 128));
  return fmt::format("its process ended with exit code {}", code);
}

/// Extracts the crash guard's message: "klab: SIGSEGV while checking <variant> at m=17 n=33, random inputs".
std::string at_its_end(const std::string& variant, const std::string& said) {
  std::istringstream in(said);
  const std::string before = " while checking " + variant;
  std::string found;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("klab: ")) continue;
    if (const size_t at = line.find(before); at != std::string::npos) found = line.substr(at + before.size());
  }
  return found.starts_with(" at ") ? found.substr(4) : found.starts_with(" ") ? found.substr(1) : found;
}

}  // namespace

CheckResult read_check(const std::string& variant, const std::string& printed, int status,
                       const std::string& said) {
  CheckResult r{.variant = variant};
  const auto fail = [&](const std::string& note) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const bool crashed = WIFSIGNALED(status) || code > 128;
    r.failures.push_back({.fault = crashed ? Fault::crashed : Fault::threw,
                          .inputs = at_its_end(variant, said),
                          .note = note});
    return r;
  };
  const auto all = nlohmann::json::parse(printed, nullptr, false);
  if (all.is_discarded() || !all.contains("variants")) return fail(how_it_ended(status));
  for (const auto& j : all["variants"]) {
    if (j.value("variant", "") != variant) continue;
    r.seconds = j.value("seconds", 0.0);
    r.cases = j.value("cases", 0);
    r.skipped_cases = j.value("skipped_cases", 0);
    r.worst = j["worst"].is_number() ? j["worst"].get<double>() : 0;
    r.note = j.value("note", "");
    r.skipped = j.value("skipped", "");
    for (const auto& f : j["failures"]) r.failures.push_back(failure_from(f));
    return r;
  }
  return fail("its process said nothing of it; " + how_it_ended(status));
}

namespace {

std::string options_text(const CheckOptions& options) {
  std::string rest = fmt::format(" --json --seed {}", options.seed);
  if (settings().threads > 0) rest += fmt::format(" --threads {}", settings().threads);
  if (!settings().isa.empty()) rest += " --isa " + quoted(settings().isa);
  if (options.quick) rest += " --quick";
  if (!options.backend.empty()) rest += " --backend " + quoted(options.backend);
  for (size_t d = 0; d < options.shape.size(); ++d)
    rest += fmt::format("{}{}", d == 0 ? " --shape=" : ",", options.shape[d]);
  return rest;
}

/// Standard output, standard error and exit status of a `klab check` process.
struct CheckProcess {
  std::string printed, said;
  int status = 0;
};

CheckProcess check_in_process(const std::vector<const Variant*>& variants, const std::string& options,
                              const std::filesystem::path& errors) {
  // Workers that spin while they wait would take a core from the concurrent process. GOMP_SPINCOUNT, which
  // main() sets for this process, has precedence over OMP_WAIT_POLICY.
  std::string command =
      "GOMP_SPINCOUNT=0 KMP_BLOCKTIME=0 OMP_WAIT_POLICY=passive " + quoted(own_program().string()) + " check";
  for (const Variant* v : variants) command += " " + quoted(v->id);
  command += options + " 2>" + quoted(errors.string());
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr)
    throw std::runtime_error("cannot start a process: " + std::string(std::strerror(errno)));
  CheckProcess ended;
  std::array<char, 4096> part{};
  for (size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    ended.printed.append(part.data(), n);
  ended.status = pclose(pipe);
  ended.said = read_text(errors);
  return ended;
}

}  // namespace

std::vector<Selected> one_by_one(std::span<const Selected> selection) {
  std::vector<Selected> list;
  for (const Selected& s : selection)
    for (const Variant* v : s.variants) {
      list.push_back(s);
      list.back().variants = {v};
    }
  return list;
}

void check_ops(std::span<const Selected> selection, const CheckOptions& options,
               const std::function<void(size_t, OpCheck, double)>& done) {
  struct Result {
    CheckProcess ended;
    double seconds = 0;
    bool there = false;
    std::exception_ptr error;
  };
  using Clock = std::chrono::steady_clock;
  const ScratchFolder folder;
  std::vector<Result> results(selection.size());
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> workers;
  const size_t many = std::min<size_t>(std::max(1U, std::thread::hardware_concurrency()), selection.size());
  for (size_t w = 0; w < many; ++w)
    workers.emplace_back([&] {
      for (size_t k; (k = next++) < selection.size();) {
        const auto begin = Clock::now();
        Result r;
        try {
          r.ended = check_in_process(selection[k].variants, options_text(options),
                                     folder.path() / fmt::format("errors{}", k));
        } catch (...) {
          r.error = std::current_exception();
        }
        r.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        r.there = true;
        const std::lock_guard lock(mutex);
        results[k] = std::move(r);
        changed.notify_all();
      }
    });
  for (size_t k = 0; k < selection.size(); ++k) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return results[k].there; });
    }
    const Result& r = results[k];
    if (r.error) {
      next = selection.size();
      std::rethrow_exception(r.error);
    }
    fmt::print(stderr, "{}", r.ended.said);
    OpCheck op;
    for (const Variant* v : selection[k].variants)
      op.variants.push_back(read_check(v->id, r.ended.printed, r.ended.status, r.ended.said));
    const std::string reference = selection[k].op->op.name + ".reference";
    if (r.ended.printed.find('"' + reference + '"') != std::string::npos)
      op.reference = read_check(reference, r.ended.printed, r.ended.status, r.ended.said);
    done(k, std::move(op), r.seconds);
  }
}

}  // namespace klab
