#include "harness/cli/step_actions.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/check/check.h"
#include "harness/check/failure_json.h"
#include "harness/cli/command.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/step_path.h"
#include "harness/cli/step_text.h"
#include "harness/core/source.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "harness/report/wrap.h"
#include "harness/step/bodies.h"
#include "harness/step/diagnose.h"
#include "harness/step/learner.h"
#include "harness/step/process.h"
#include "harness/step/work_file.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

Answer ask(const Step& step, const fs::path& file, const StepCheckOptions& o,
           const std::function<void(const std::string&)>& doing = {}) {
  Progress progress;
  return check_work(step, file,
                    {.seed = settings().seed,
                     .threads = settings().threads,
                     .time = o.time,
                     .seconds = o.seconds,
                     .progress = [&](const std::string& stage) {
                       progress.show(step.name + ": " + stage);
                       if (doing) doing(stage);
                     }});
}

/// Checks klab's own rung, or the parent, written as a work file.
Answer ask_with(const Step& step, const StepCheckOptions& o) {
  if (o.with != "own" && o.with != "parent") throw std::invalid_argument("--with takes own or parent");
  const ScratchFolder folder;
  const fs::path file = folder.path() / fs::path(step.work).filename();
  std::ofstream(file) << work_text(step, o.with == "own" ? *step.own : *step.parent);
  return ask(step, file, o);
}

nlohmann::json as_json(const Step& step, const Answer& a) {
  nlohmann::json j = {{"step", step.name},        {"outcome", name_of(a.outcome)},
                      {"passed", a.passed()},     {"text", a.text},
                      {"compiles", a.compiles()}, {"right", a.right()},
                      {"safe", a.safe()},         {"speed", name_of(a.speed.speed)},
                      {"cases", a.cases},         {"seconds", a.seconds},
                      {"worst", a.worst}};
  if (a.speed.over_parent) j["over_parent"] = a.speed.over_parent->value;
  if (a.speed.of_own > 0) j["of_own"] = a.speed.of_own;
  if (!a.compiles()) j["compiler"] = a.compiled.message;
  if (a.survey) j["common"] = a.survey->common;
  if (a.failure) j["failure"] = to_json(*a.failure);
  j["mistakes"] = j["advice"] = nlohmann::json::array();
  for (const Diagnosis& d : diagnose(step, a)) {
    j["mistakes"].push_back(d.mistake);
    j["advice"].push_back(d.sentence);
  }
  return with_schema("step", j);
}

int exit_code(const Answer& a) {
  return a.good()                                                         ? exit_ok
         : a.outcome == Outcome::harness || a.outcome == Outcome::missing ? exit_usage
                                                                          : exit_failed;
}

void print(const Step& step, const Answer& a, const StepCheckOptions& o) {
  if (o.json)
    fmt::print("{}\n", as_json(step, a).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}{}\n", answer_text(step, a),
               inked(fmt::format("answered in {:.1f} s", a.seconds), Ink::dim));
  std::fflush(stdout);
}

/// Returns whether the answer is the expected one: the parent must be rejected if the step requires
/// something.
bool as_it_should(const Answer& a, const StepCheckOptions& o) {
  if (o.with == "own") return o.time ? a.passed() : a.good();
  if (!o.time) return a.right() && !a.good();
  return a.outcome == Outcome::no_faster || a.outcome == Outcome::unchanged;
}

/// Returns why the step's rung can run at none of its lab's sizes on this machine; empty if it can.
std::string why_not_here(const Step& step) {
  std::string why;
  for (const BenchShape& b : step.op->bench) {
    const std::string reason = step.own->supported(b.shape, host_of(*step.own));
    if (reason.empty()) return "";
    if (why.empty()) why = reason;
  }
  return why;
}

}  // namespace

Answer answered_work(const Step& step, const StepCheckOptions& o,
                     const std::function<void(const std::string&)>& doing) {
  const fs::path file = work_path(step);
  if (!fs::exists(file))
    throw std::runtime_error(fmt::format("there is no {}: klab step {} begins it", file.string(), step.name));
  const Answer a = ask(step, file, o, doing);
  if (a.outcome != Outcome::harness) {
    const auto book = change_progress(work_folder(), [&](ProgressBook& b) { enter(b, step, a); });
    if (!book.note.empty()) fmt::print(stderr, "klab: {}\n", book.note);
  }
  if (a.passed()) keep_passing(step);
  print(step, a, o);
  return a;
}

int check_step(const Step& step, const StepCheckOptions& o) {
  if (o.with.empty()) return exit_code(answered_work(step, o));
  const Answer a = ask_with(step, o);
  print(step, a, o);
  return exit_code(a);
}

int check_every_step(const std::string& begin, const StepCheckOptions& o) {
  watch_interrupt();
  int bad = 0, all = 0;
  const auto& every = steps();
  if (std::ranges::none_of(every, [&](const Step& s) { return s.name.starts_with(begin); }))
    throw std::invalid_argument(
        fmt::format("--every {}: no step's name begins so; klab step lists them", begin));
  for (const Step& step : every) {
    if (interrupted()) return exit_interrupted;
    if (!step.name.starts_with(begin)) continue;
    if (const std::string why = why_not_here(step); !why.empty()) {
      fmt::print("{:<24} {} {}\n", step.name, inked("left  ", Ink::dim), why);
      continue;
    }
    const Answer a = ask_with(step, o);
    const bool good = as_it_should(a, o);
    ++all;
    bad += good ? 0 : 1;
    std::string figures;
    if (a.speed.over_parent)
      figures = fmt::format("{:.2f}x, asked {:.2f}x", a.speed.over_parent->value, a.speed.asked);
    fmt::print("{:<24} {} {:<18} {:5.1f} s  {} {}\n", step.name,
               inked(good ? "ok    " : "NOT OK", good ? Ink::green : Ink::red), name_of(a.outcome), a.seconds,
               figures, a.text);
    std::fflush(stdout);
  }
  fmt::print("{} steps, {} with another answer than they should have\n", all, bad);
  return bad > 0 ? exit_failed : exit_ok;
}

void on_every_save(const Step& step, const std::function<void()>& saved) {
  const fs::path file = work_path(step);
  watch_interrupt();
  fs::file_time_type seen{};
  while (!interrupted()) {
    std::error_code error;
    const auto now = fs::last_write_time(file, error);
    if (error || now == seen) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      continue;
    }
    seen = now;
    // Clear at once, so that no verdict about an earlier text stays on the screen.
    fmt::print("{}{}\n", paper().terminal ? "\x1b[2J\x1b[3J\x1b[H" : "\n",
               inked(fmt::format("checking {} ...", step.name), Ink::dim));
    std::fflush(stdout);
    saved();
    fmt::print("{}\n", inked("waiting for the next save; Ctrl-C ends", Ink::dim));
    std::fflush(stdout);
  }
}

int watch_step(const Step& step, const StepCheckOptions& o) {
  on_every_save(step, [&] { check_step(step, o); });
  return exit_ok;
}

int show_solution(const Step& step) {
  fmt::print("{}\n", step_text(step, 100));
  const std::string diff = unified_diff(source_text(*step.parent), source_text(*step.own),
                                        source_path(*step.parent), source_path(*step.own));
  std::istringstream lines(diff);
  for (std::string line; std::getline(lines, line);)
    fmt::print("{}\n", inked(line, line.starts_with("+")   ? Ink::green
                                   : line.starts_with("-") ? Ink::red
                                   : line.starts_with("@") ? Ink::cyan
                                                           : Ink::plain));
  change_progress(work_folder(), [&](ProgressBook& b) { b.steps[step.own->id].solution = true; });
  return exit_ok;
}

int restart_step(const Step& step) {
  move_aside(step);
  start_work(step);
  fmt::print("{}", fitted(fmt::format("started again: {}\n", work_path(step).string())));
  return exit_ok;
}

}  // namespace klab
