#include "harness/step/answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "harness/check/failure_json.h"
#include "harness/check/failure_text.h"
#include "harness/core/source.h"
#include "harness/step/bodies.h"
#include "harness/step/imports.h"
#include "harness/step/judge.h"
#include "harness/step/sandbox.h"
#include "harness/step/source_places.h"
#include "harness/step/work_file.h"

namespace klab {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kTryingSeconds = 10;
constexpr double kCheckingSeconds = 15;  // per shape; the check uses shapes that take milliseconds

/// Everything that the judging process has reported.
struct Heard {
  std::string at = "starting";
  std::string shape;  // current shape, if any
  bool done = false;
  std::string wrong;
  std::optional<Json> check, times, counts, survey;
};

std::string first_line(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) return line.substr(0, 160);
  return "";
}

/// The crash guard's lines, and the rest of the output.
struct Words {
  std::string guard, place, others;
};
Words sorted(const std::string& text) {
  Words words;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("klab: SIG"))
      words.guard = line.substr(6);
    else if (line.starts_with("klab: place "))
      words.place = line.substr(12);
    else
      words.others += line + "\n";
  }
  return words;
}

Outcome outcome_of(const Failure& f) {
  switch (f.fault) {
    case Fault::out_of_bounds:
      return Outcome::out_of_bounds;
    case Fault::input_changed:
      return Outcome::changes_inputs;
    case Fault::stale:
      return Outcome::stale_results;
    case Fault::nondeterministic:
      return Outcome::nondeterministic;
    case Fault::threads:
    case Fault::race:
    case Fault::late:
    case Fault::state:
      return Outcome::unsafe;
    case Fault::crashed:
      return Outcome::crashes;
    case Fault::threw:
      return Outcome::throws;
    case Fault::ended:
      return Outcome::exits;
    case Fault::endless:
      return Outcome::loops;
    case Fault::finding:
      return f.note.starts_with("out of bounds") ? Outcome::out_of_bounds
             : f.note.starts_with("never ends")  ? Outcome::loops
                                                 : Outcome::unsafe;
    default:
      return Outcome::wrong;
  }
}

class Check {
 public:
  Check(const Step& step, const fs::path& file, const CheckStepOptions& options)
      : step_(step), file_(file), options_(options) {}

  Answer run() {
    const auto begin = std::chrono::steady_clock::now();
    try {
      if (read_file() && compile() && check_imports()) ask_judge();
    } catch (const std::exception& error) {
      end(Outcome::harness, error.what());
    }
    answer_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(answer_);
  }

 private:
  bool end(Outcome outcome, std::string text) {
    answer_.outcome = outcome;
    answer_.text = std::move(text);
    return false;
  }

  void doing(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  bool read_file() {
    if (!fs::is_regular_file(file_)) return end(Outcome::missing, "there is no " + file_.string());
    if (fs::file_size(file_) > (4 << 20)) return end(Outcome::missing, "the file has more than 4 MB");
    if (fs::file_size(file_) == 0) return end(Outcome::no_variant, "the file is empty");
    text_ = read_text(file_);
    const auto has = [&](const char* word) { return text_.find(word) != std::string::npos; };
    answer_.shares_memory = has("__shared__");
    answer_.starts_threads =
        has("parallel") || has("std::thread") || has("std::async") || has("pthread_create");
    return true;
  }

  /// Confines a command of untrusted code to this check's folder and a few readable places.
  std::vector<std::string> wrapped(const std::vector<std::string>& command) const {
    return options_.untrusted ? confined_command(own_program(), folder_.path(), command) : command;
  }

  bool compile() {
    doing("compiling");
    source_ = fs::absolute(file_);
    if (options_.untrusted) {
      source_ = folder_.path() / ("submission" + file_.extension().string());
      fs::copy_file(file_, source_);
    }
    answer_.compiled =
        compile_work(step_, source_, folder_.path(),
                     {.limits = {.seconds = std::max(120.0, options_.seconds), .bytes = options_.bytes},
                      .wrap = [this](const std::vector<std::string>& c) { return wrapped(c); },
                      .watched = true,
                      .lines = !options_.variant,
                      .automatic = ""});
    for (const std::string& file : answer_.compiled.includes)
      if (is_answer(file))
        return end(Outcome::forbidden,
                   fmt::format("it includes {}, which holds klab's own code: write the step's code yourself",
                               file.substr(file.rfind("kernels/"))));
    if (answer_.compiled.good && !options_.known_object.empty() &&
        answer_.compiled.object == options_.known_object)
      return end(Outcome::unchanged, "the machine code is the same");
    if (answer_.compiled.good) return true;
    return end(Outcome::does_not_compile, first_line(answer_.compiled.message));
  }

  bool check_imports() {
    for (const fs::path& module : answer_.compiled.modules) {
      if (const auto call = forbidden_call(imports_of(module), options_.untrusted))
        return end(Outcome::forbidden, fmt::format("{}: it {}", call->name, call->what));
      if (const auto clock = own_clock(definitions_of(module)))
        return end(Outcome::forbidden, fmt::format("{}: it defines a clock of its own", *clock));
    }
    return true;
  }

  ProcessLimits limits_at(const std::string& stage) const {
    const bool small = stage == "starting" || stage == "loading" || stage == "trying";
    const double most = small ? kTryingSeconds : stage == "checking" ? kCheckingSeconds : options_.seconds;
    return {.seconds = std::min(most, options_.seconds), .bytes = options_.bytes};
  }

  void ask_judge() {
    JudgeJob job{.step = step_.name,
                 .seed = options_.seed,
                 .threads = options_.threads,
                 .time = options_.time,
                 .check_seconds = options_.check_seconds,
                 .variant = options_.variant,
                 .survey = !options_.variant && !options_.untrusted};
    for (const fs::path& module : answer_.compiled.modules) job.modules.push_back(module.string());
    if (options_.untrusted) job.confined_to = folder_.path().string();
    const fs::path plan = folder_.path() / "job.json";
    std::ofstream(plan) << to_text(job);
    const auto command = wrapped({own_program().string(), "step", "--judge", plan.string()});
    Heard heard;
    const auto on_line = [&](const std::string& line) {
      const Json j = Json::parse(line, nullptr, false);
      if (j.is_object()) hear(j, heard);
      return limits_at(heard.at);
    };
    // Threads that a library starts while it is loaded would not be confined.
    const Ended ended = run_process(command, limits_at("starting"), on_line, folder_.path(),
                                    {"OPENBLAS_NUM_THREADS=1", "OMP_WAIT_POLICY=passive"});
    judge(ended, heard);
  }

  void hear(const Json& j, Heard& heard) const {
    if (j.contains("at") && j["at"].is_string()) {
      heard.at = j["at"];
      doing(heard.at);
    }
    if (j.contains("shape") && j["shape"].is_string()) heard.shape = j["shape"];
    if (j.contains("wrong") && j["wrong"].is_string()) heard.wrong = j["wrong"];
    if (j.contains("check")) heard.check = j["check"];
    if (j.contains("times")) heard.times = j["times"];
    if (j.contains("counts")) heard.counts = j["counts"];
    if (j.contains("survey")) heard.survey = j["survey"];
    if (j.contains("done")) heard.done = true;
  }

  void judge(const Ended& ended, const Heard& heard) {
    const Words words = sorted(ended.words);
    if (heard.check) take_check(*heard.check);
    if (heard.survey) answer_.survey = survey_from(*heard.survey);
    if (answer_.failure) {
      // However the survey after it ended, the failure stands.
      answer_.printed = words.others;
      locate_crash(answer_.failure->note);
      if (answer_.survey && answer_.outcome != Outcome::crashes) try_patterns();
      return void(end(outcome_of(*answer_.failure), values_text(*answer_.failure)));
    }
    const std::string stage =
        (heard.at == "trying" ? "checking" : heard.at) + (heard.shape.empty() ? "" : " " + heard.shape);
    switch (ended.how) {
      case Ended::How::too_long:
        return void(end(Outcome::loops, fmt::format("stopped after {:.0f} s while {}: it does not end",
                                                    limits_at(heard.at).seconds, stage)));
      case Ended::How::too_much_memory:
        return void(
            end(Outcome::too_much_memory, fmt::format("stopped while {}: it took more than {} MB of memory",
                                                      stage, options_.bytes / 1000000)));
      case Ended::How::cannot_start:
        return void(end(Outcome::harness, ended.words));
      case Ended::How::signalled:
        answer_.printed = words.others;
        locate_crash(", at " + words.place);
        return void(end(Outcome::crashes,
                        words.guard.empty() ? signal_name(ended.code) + " while " + stage : words.guard));
      case Ended::How::exited:
        break;
    }
    if (!heard.wrong.empty()) return void(end(Outcome::no_variant, heard.wrong));
    if (!heard.done && words.others.find("two variants are called") != std::string::npos)
      return void(end(Outcome::no_variant, "the file registers two variants: one KLAB_VARIANT(...) a file"));
    if (!heard.done)
      return void(end(heard.at == "starting" ? Outcome::harness : Outcome::exits,
                      heard.at == "starting"
                          ? "the judge did not start: " + first_line(ended.words)
                          : fmt::format("ended the process with exit code {} while {}", ended.code, stage)));
    answer_.printed = words.others;
    if (answer_.cases == 0) return void(end(Outcome::harness, "nothing was compared: " + skipped_));
    if (!words.others.empty())
      return void(end(Outcome::prints, "it prints: \"" + first_line(words.others) + "\""));
    take_speed(heard);
  }

  /// Replaces ", at MODULE+0xOFFSET" by the line of the file, and records it.
  void locate_crash(std::string& text) {
    static const std::regex form(R"(, at (\S+)\+0x([0-9a-f]+))");
    std::smatch m;
    if (!std::regex_search(text, m, form)) return;
    answer_.crash = crash_line(m[1].str(), m[2].str(), source_);
    text = m.prefix().str() +
           (answer_.crash.line > 0 ? fmt::format(", in line {}", answer_.crash.line) : "") + m.suffix().str();
  }
  void locate_crash(std::string&& text) { locate_crash(text); }

  /// A variable that is read before it is set holds what the compiler puts there: with zeros and with a pattern, the same
  /// case has other results.
  void try_patterns() {
    const Fault f = answer_.failure->fault;
    if (step_.cuda() || (f != Fault::wrong_value && f != Fault::non_finite && f != Fault::nondeterministic))
      return;
    const auto unset = unset_variables(text_);
    if (unset.empty()) return;
    doing("looking for variables that are read before they are set");
    std::string digests[2];
    const char* const forms[] = {"zero", "pattern"};
    for (size_t k = 0; k < 2; ++k) {
      const fs::path inner = folder_.path() / forms[k];
      fs::create_directory(inner);
      const Compiled form = compile_work(step_, source_, inner,
                                         {.limits = {.seconds = 60, .bytes = options_.bytes},
                                          .wrap = {},
                                          .lines = true,
                                          .automatic = forms[k]});
      if (!form.good) return;
      JudgeJob job{.step = step_.name, .modules = {form.modules.front().string()}, .seed = options_.seed};
      job.digest_of = answer_.survey->values.shape;
      const fs::path plan = inner / "job.json";
      std::ofstream(plan) << to_text(job);
      run_process({own_program().string(), "step", "--judge", plan.string()},
                  {.seconds = 10, .bytes = options_.bytes},
                  [&](const std::string& line) {
                    const Json j = Json::parse(line, nullptr, false);
                    if (j.is_object() && j.contains("digest")) digests[k] = j["digest"];
                    return ProcessLimits{.seconds = 10, .bytes = options_.bytes};
                  },
                  folder_.path(), {"OPENBLAS_NUM_THREADS=1", "OMP_WAIT_POLICY=passive", "OMP_NUM_THREADS=1"});
    }
    if (digests[0].empty() || digests[1].empty() || digests[0] == digests[1]) return;
    answer_.unset = unset;
  }

  void take_check(const Json& j) {
    answer_.cases = j.value("cases", 0);
    answer_.worst = j.value("worst", 0.0);
    skipped_ = j.value("skipped", "");
    answer_.note = j.value("note", "");
    if (j.value("failures", Json::array()).empty()) return;
    answer_.failure = failure_from(j["failures"][0]);
  }

  void take_speed(const Heard& heard) {
    if (heard.times) {
      const Json& t = *heard.times;
      if (const std::string wrong = t.value("wrong", ""); !wrong.empty())
        return void(end(wrong.starts_with("after timing") || wrong.find("keeps results") != std::string::npos
                            ? Outcome::stale_results
                            : Outcome::wrong,
                        wrong));
      if (const std::string skipped = t.value("skipped", ""); !skipped.empty())
        return void(end(Outcome::no_faster, skipped));
      answer_.times = StepTimes{.size = t.at("size"),
                                .parent = t.at("parent"),
                                .yours = t.at("yours"),
                                .own = t.at("own"),
                                .of_ceiling = t.at("of_ceiling"),
                                .ceiling = t.at("ceiling"),
                                .others = t.at("others"),
                                .expected = t.at("expected")};
      for (const Json& e : t.at("elsewhere"))
        answer_.times->elsewhere.push_back(
            {.size = e.at("size"), .parent = e.at("parent"), .yours = e.at("yours"), .own = e.at("own")});
      answer_.speed = judge_times(*answer_.times);
    }
    if (heard.counts) {
      const Json& c = *heard.counts;
      const auto counted = [](const Json& at) {
        return StepCountsThere{at.at("shape"), at.at("parent"), at.at("yours"), at.at("own")};
      };
      std::vector<StepCountsThere> elsewhere;
      for (const Json& there : c.at("elsewhere")) elsewhere.push_back(counted(there));
      answer_.counts = judge_counts(counted(c), elsewhere);
      answer_.counted_at = c.at("shape");
      for (const Json& w : c.at("wasteful"))
        answer_.wasteful.push_back({.file = w.at("file"),
                                    .line = w.at("line"),
                                    .write = w.at("write"),
                                    .shared = w.at("shared"),
                                    .cost = w.at("cost"),
                                    .ideal = w.at("ideal"),
                                    .stride = w.at("stride")});
      answer_.speed.speed = answer_.counts->speed;
      answer_.speed.why = answer_.counts->why;
    }
    conclude();
  }

  void conclude() {
    const SpeedVerdict& s = answer_.speed;
    // If speed cannot tell, report that a learner has changed nothing.
    if (s.speed == Speed::not_asked && !options_.variant && is_unchanged(step_, text_))
      return void(end(Outcome::unchanged, "the code is still the parent's"));
    // A variant that is compared with itself is asked for no speed: being right and safe decides.
    if (options_.variant && !options_.time) return void(end(Outcome::passed, ""));
    // Without timing, a rewording of the parent cannot be told from the step's change either.
    if (!options_.time)
      return void(end(Outcome::untimed,
                      "right and safe; whether it is what the step asks for shows when it is timed"));
    switch (s.speed) {
      case Speed::not_asked:
      case Speed::enough:
        return void(end(Outcome::passed, ""));
      case Speed::undecided:
        return void(end(Outcome::undecided, s.why));
      default:
        return void(end(Outcome::no_faster, name_of(s.speed)));
    }
  }

  const Step& step_;
  const fs::path& file_;
  const CheckStepOptions& options_;
  fs::path source_;  // what is compiled
  ScratchFolder folder_;
  Answer answer_;
  std::string text_, skipped_;
};

}  // namespace

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::missing:
      return "no file";
    case Outcome::unchanged:
      return "unchanged";
    case Outcome::does_not_compile:
      return "does not compile";
    case Outcome::forbidden:
      return "calls what it must not";
    case Outcome::no_variant:
      return "registers no variant";
    case Outcome::wrong:
      return "wrong";
    case Outcome::out_of_bounds:
      return "out of bounds";
    case Outcome::changes_inputs:
      return "changes its inputs";
    case Outcome::stale_results:
      return "stale results";
    case Outcome::nondeterministic:
      return "nondeterministic";
    case Outcome::unsafe:
      return "unsafe";
    case Outcome::throws:
      return "throws";
    case Outcome::prints:
      return "prints";
    case Outcome::exits:
      return "exits the process";
    case Outcome::crashes:
      return "crashes";
    case Outcome::loops:
      return "does not end";
    case Outcome::too_much_memory:
      return "too much memory";
    case Outcome::no_faster:
      return "not fast enough";
    case Outcome::undecided:
      return "undecided";
    case Outcome::untimed:
      return "not timed";
    case Outcome::harness:
      return "could not be judged";
  }
  return "?";
}

bool Answer::right() const {
  return cases > 0 && !failure && outcome != Outcome::wrong && outcome != Outcome::no_variant;
}

bool Answer::safe() const {
  return right() && (passed() || outcome == Outcome::unchanged || outcome == Outcome::no_faster ||
                     outcome == Outcome::undecided || outcome == Outcome::untimed);
}

Answer check_work(const Step& step, const fs::path& file, const CheckStepOptions& options) {
  return Check(step, file, options).run();
}

}  // namespace klab
