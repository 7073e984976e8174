#include "harness/cli/check_apart.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "harness/check/failure_json.h"
#include "harness/check/work_notes.h"
#include "harness/cli/command.h"
#include "harness/step/process.h"

namespace klab {
namespace {

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
    r.failures.push_back({.fault = crashed ? Fault::crashed : Fault::ended,
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

std::vector<std::string> options_text(const CheckOptions& options) {
  std::vector<std::string> rest = {"--seed", std::to_string(options.seed)};
  const auto add = [&](const std::string& name, const std::string& value) {
    rest.push_back(name);
    rest.push_back(value);
  };
  if (settings().threads > 0) add("--threads", std::to_string(settings().threads));
  if (!settings().isa.empty()) add("--isa", settings().isa);
  if (options.quick) rest.emplace_back("--quick");
  if (options.triples) rest.emplace_back("--triples");
  if (!options.backend.empty()) add("--backend", options.backend);
  std::string shape;
  for (const int64_t extent : options.shape)
    shape += (shape.empty() ? "--shape=" : ",") + std::to_string(extent);
  if (!shape.empty()) rest.push_back(shape);
  return rest;
}

/// A `klab check` process that has ended.
struct CheckProcess {
  std::string answer;              // JSON; empty where it gave none
  std::vector<std::string> notes;  // what it was doing, one a thread, where it gave no answer
  Ended ended;
};

int wait_status(const Ended& ended) {
  return ended.how == Ended::How::signalled ? ended.code : ended.code << 8;
}

CheckProcess check_in_process(const std::vector<const Variant*>& variants,
                              const std::vector<std::string>& options, bool alone, double limit) {
  const ScratchFolder folder;
  const std::string notes = (folder.path() / "notes").string();
  std::vector<std::string> command = {own_program().string(), "check"};
  for (const Variant* v : variants) command.push_back(v->id);
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"--notes", notes});
  // Workers that spin while they wait would take a core from the concurrent process. GOMP_SPINCOUNT, which
  // main() sets for this process, has precedence over OMP_WAIT_POLICY.
  std::vector<std::string> environment;
  if (!alone) environment = {"GOMP_SPINCOUNT=0", "KMP_BLOCKTIME=0", "OMP_WAIT_POLICY=passive"};
  CheckProcess process;
  const auto hear = [&](const std::string& line) {
    if (line.starts_with('{')) process.answer = line;
    return ProcessLimits{.seconds = limit};
  };
  process.ended = run_process(command, {.seconds = limit}, hear, {}, environment);
  if (process.ended.how == Ended::How::cannot_start)
    throw std::runtime_error("cannot start a process: " + process.ended.words);
  if (process.answer.empty()) process.notes = notes_left_in(notes);
  return process;
}

/// What a process was doing to a variant when it ended: "n=17, random inputs"; nothing where it was doing something else.
std::optional<std::string> doing_to(const std::string& variant, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    const std::string begin = "checking " + variant + " ";
    if (!note.starts_with(begin)) continue;
    const std::string rest = note.substr(begin.size());
    return rest.starts_with("at ") ? rest.substr(3) : rest;
  }
  return std::nullopt;
}

/// The failure of a variant whose process has ended without an answer.
CheckResult ended_by(const std::string& variant, const CheckProcess& process, double limit) {
  CheckResult r = read_check(variant, "", wait_status(process.ended), process.ended.words);
  Failure& failure = r.failures.front();
  if (process.ended.how == Ended::How::too_long) {
    failure.fault = Fault::endless;
    failure.note = fmt::format("stopped after {:g} s in one call", limit);
  }
  if (failure.inputs.empty()) failure.inputs = doing_to(variant, process.notes).value_or("");
  return r;
}

/// Whether another process may have ended this one: by a signal that no instruction raises, or by one of which the crash guard says so.
bool may_come_from_outside(const CheckProcess& process) {
  if (process.ended.how != Ended::How::signalled) return false;
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    if (process.ended.code == own) return process.ended.words.find(" from process ") != std::string::npos;
  return true;
}

/// Checks the variants of one op until each has a result.
class ApartCheck {
 public:
  ApartCheck(const Selected& selected, std::vector<std::string> options, bool alone, double limit)
      : left_(selected.variants),
        reference_(selected.op->op.name + ".reference"),
        options_(std::move(options)),
        alone_(alone),
        limit_(limit) {}

  OpCheck run() {
    const std::vector<const Variant*> all = left_;
    while (!left_.empty()) once();
    OpCheck op{.variants = {}, .reference = std::move(reference_result_)};
    for (const Variant* v : all) op.variants.push_back(std::move(results_.at(v)));
    return op;
  }

  const std::string& said() const { return said_; }

 private:
  void once() {
    const CheckProcess process = check_in_process(left_, options_, alone_, limit_);
    said_ += process.ended.words;
    if (!process.answer.empty()) return take_all(process);
    std::vector<const Variant*> suspects;
    for (const Variant* v : left_)
      if (doing_to(v->id, process.notes)) suspects.push_back(v);
    // Ended by no variant: by a reference, or before any was checked.
    const bool certain = suspects.size() <= 1 && !may_come_from_outside(process);
    if (suspects.empty()) suspects = left_;
    for (const Variant* v : suspects) {
      if (certain)
        results_.emplace(v, ended_by(v->id, process, limit_));
      else
        check_alone(*v);
      std::erase(left_, v);
    }
  }

  /// CUDA kernels are checked several at a time: one that was running need not be the one that ended the process.
  void check_alone(const Variant& v) {
    const CheckProcess process = check_in_process({&v}, options_, alone_, limit_);
    said_ += process.ended.words;
    results_.emplace(
        &v, process.answer.empty() ? ended_by(v.id, process, limit_) : read_check(v.id, process.answer, 0));
  }

  void take_all(const CheckProcess& process) {
    for (const Variant* v : left_)
      results_.emplace(v, read_check(v->id, process.answer, wait_status(process.ended)));
    if (process.answer.find('"' + reference_ + '"') != std::string::npos)
      reference_result_ = read_check(reference_, process.answer, wait_status(process.ended));
    left_.clear();
  }

  std::vector<const Variant*> left_;
  std::string reference_;
  std::vector<std::string> options_;
  bool alone_;
  double limit_;
  std::map<const Variant*, CheckResult> results_;
  std::optional<CheckResult> reference_result_;
  std::string said_;
};

}  // namespace

void send_answer(const std::string& json) {
  const std::string text = json + "\n";
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(result_channel, text.data() + at, text.size() - at);
    if (n <= 0) std::_Exit(3);  // the reader is gone
    at += size_t(n);
  }
}

void work_for_another(const std::string& notes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  keep_notes_in(notes, [] {
    if (write(result_channel, "\n", 1) < 0) std::_Exit(3);
  });
}

std::vector<Selected> one_by_one(std::span<const Selected> selection) {
  std::vector<Selected> list;
  for (const Selected& s : selection)
    for (const Variant* v : s.variants) {
      list.push_back(s);
      list.back().variants = {v};
    }
  return list;
}

void check_ops(std::span<const Selected> selection, const CheckOptions& options, double limit,
               const std::function<void(size_t, OpCheck, double)>& done) {
  struct Result {
    OpCheck op;
    std::string said;
    double seconds = 0;
    bool there = false;
    std::exception_ptr error;
  };
  using Clock = std::chrono::steady_clock;
  std::vector<Result> results(selection.size());
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> workers;
  const bool gpu = options.backend == "cuda";
  const size_t cores = gpu ? 1 : std::max(1U, std::thread::hardware_concurrency());
  const size_t many = std::min(cores, selection.size());
  for (size_t w = 0; w < many; ++w)
    workers.emplace_back([&] {
      for (size_t k; (k = next++) < selection.size();) {
        const auto begin = Clock::now();
        Result r;
        try {
          ApartCheck one(selection[k], options_text(options), many == 1, limit);
          r.op = one.run();
          r.said = one.said();
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
    Result& r = results[k];
    if (r.error) {
      next = selection.size();
      std::rethrow_exception(r.error);
    }
    fmt::print(stderr, "{}", r.said);
    done(k, std::move(r.op), r.seconds);
  }
}

}  // namespace klab
