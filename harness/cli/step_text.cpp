#include "harness/cli/step_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "harness/check/failure_text.h"
#include "harness/cli/markdown.h"
#include "harness/report/table.h"
#include "harness/report/wrap.h"
#include "harness/step/compiler_text.h"
#include "harness/step/diagnose.h"
#include "harness/step/learner.h"
#include "harness/step/lesson.h"
#include "harness/step/work_file.h"

namespace klab {
namespace {

/// Formats an answer in lines that fit, the first behind the question.
std::string line(int number, const char* question, const std::string& answer, Ink ink) {
  std::string text;
  std::istringstream in(wrapped(answer, paper().width - 12, 0));
  for (std::string l; std::getline(in, l);)
    text += (text.empty() ? fmt::format("{} {:<9} ", number, question) : std::string(12, ' ')) +
            inked(l, ink) + "\n";
  return text.empty() ? fmt::format("{} {:<9}\n", number, question) : text;
}

std::string indented(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string l; std::getline(in, l);) out += std::string(12, ' ') + l + "\n";
  return out;
}

/// Returns the first lines of a kernel's output.
std::string beginning_of(const std::string& printed) {
  constexpr size_t kMost = 20;
  std::string out;
  std::istringstream in(printed);
  size_t lines = 0;
  for (std::string l; lines < kMost && std::getline(in, l); ++lines) out += "| " + l.substr(0, 120) + "\n";
  return out + (in.eof() ? "" : "| ...\n");
}

/// Breaks lines that are longer than the output is wide between words.
std::string in_column(const std::string& text) {
  const size_t width = std::max<size_t>(40, std::min<size_t>(size_t(paper().width), 110) - 12);
  std::string out;
  std::istringstream in(text);
  for (std::string l; std::getline(in, l);) {
    out += wrapped(l, int(width), 0) + "\n";
  }
  return out;
}

std::string fields_text(const Failure& f) {
  std::string text;
  for (const auto& [name, value] : failure_fields(f))
    text += indented(wrapped(fmt::format("{:<9} {}", name, value), paper().width - 12, 10));
  return text;
}

std::string times_text(const Answer& a) {
  const SpeedVerdict& s = a.speed;
  if (!s.over_parent) return s.why;
  std::string text = fmt::format("{:.2f} times the parent ({:.2f} to {:.2f})", s.over_parent->value,
                                 s.over_parent->low, s.over_parent->high);
  if (s.of_own > 0) text += fmt::format(", {:.0f} % of klab's own rung", 100 * s.of_own);
  if (s.of_ceiling > 0)
    text += fmt::format(", {:.0f} % of the ceiling ({})", 100 * s.of_ceiling, a.times->ceiling);
  return text;
}

std::string counts_text(const Answer& a) {
  std::string text = indented(fmt::format("counted at {}", a.counted_at));
  Table table({{"a run"},
               {"parent", Column::Kind::right},
               {"yours", Column::Kind::right},
               {"klab's", Column::Kind::right},
               {""}});
  for (const auto& l : a.counts->lines)
    table.add({l.name, std::to_string(l.parent), std::to_string(l.yours), std::to_string(l.own),
               Cell(l.worse     ? "should not rise"
                    : !l.asked  ? ""
                    : l.reached ? "lower, as asked"
                                : "should fall",
                    l.reached && !l.worse ? Ink::green : Ink::red)});
  return text + (table.empty() ? "" : indented(table.text()));
}

std::string speed_text(const Step& step, const Answer& a) {
  const Speed s = a.speed.speed;
  const Ink ink = s == Speed::enough ? Ink::green : s == Speed::not_asked ? Ink::plain : Ink::red;
  if (a.counts) {
    const std::string what = s == Speed::enough      ? "yes: it needs less, by what the executor counts"
                             : s == Speed::not_asked ? a.speed.why
                                                     : std::string("not yet: ") + name_of(s);
    const std::string there =
        s == Speed::some && !a.speed.why.empty() ? indented(in_column(a.speed.why)) : "";
    return line(4, "faster?", what, ink) + there + counts_text(a);
  }
  if (!a.times) return line(4, "faster?", "not timed", Ink::dim);
  std::string text =
      line(4, "faster?", times_text(a), ink) + indented(inked("at " + a.times->size, Ink::dim));
  if (a.speed.asked > 0 && s != Speed::enough)
    text += indented(fmt::format("asked for is {:.2f} times; klab's own rung is at {:.2f}", a.speed.asked,
                                 a.speed.own_over_parent));
  if (!a.speed.why.empty()) text += indented(in_column(a.speed.why));
  (void)step;
  return text;
}

/// Says whether races between the threads of a CPU file were looked for, or why not. Empty for a file that starts none.
std::string races_text(const Step& step, const Answer& a) {
  const std::string& why = a.compiled.unwatched;
  if (!why.empty()) return indented(in_column("races between its threads were not looked for: " + why));
  if (step.cuda()) return "";
  return a.note.empty() ? "" : indented(inked(in_column(a.note), Ink::dim));
}

/// Returns the command for the next unread hint; after the last, for klab's own answer.
std::string stuck_text(const Step& step) {
  const size_t hints = lesson_of(step).hints.size();
  const ProgressBook book = read_progress(work_folder());
  const auto record = book.steps.find(step.own->id);
  const size_t had = record == book.steps.end() ? 0 : size_t(std::max(0, record->second.hints));
  if (had < hints) return fmt::format("stuck? klab step {} --hint {} (of {})", step.name, had + 1, hints);
  return fmt::format("stuck? {}klab's own answer: klab step --solution {}",
                     hints > 0 ? "all hints are read; " : "", step.name);
}

constexpr double kHalf = 0.5;  // of klab's own rung: a step done below it points to a hint

std::string next_text(const Step& step, const Answer& a) {
  const std::string again = "klab step --check " + step.name;
  if (a.outcome == Outcome::untimed) return "have it timed: " + again;
  if (a.passed()) {
    const Step* next = next_step(step);
    const bool more = !diagnose(step, a).empty();
    const bool blind = a.counts && a.speed.speed == Speed::not_asked;
    if (a.speed.of_own > 0 && a.speed.of_own < kHalf)
      return fmt::format(
                 "done, at {:.0f} % of klab's own rung: more than half of its speed is still to be had\n{}",
                 100 * a.speed.of_own, stuck_text(step)) +
             (next != nullptr ? "\nor go on: klab step " + next->name : "");
    return std::string(more    ? "done, though the advice above would make it better"
                       : blind ? "done, as far as it can be told without a GPU"
                               : "done") +
           ". klab's own answer: klab step --solution " + step.name +
           (next != nullptr ? "\nnext: klab step " + next->name
                            : "\nThe last step of this lab: klab step shows the others.");
  }
  return "change " + work_path(step).string() + " and say " + again + "\n" + stuck_text(step);
}

}  // namespace

std::string loops_text(const Compiled& compiled) {
  if (!compiled.loops_unknown.empty()) return indented(inked(compiled.loops_unknown, Ink::dim));
  std::string text;
  constexpr size_t kMost = 8;  // files with explicit vectors have many loops
  for (size_t k = 0; k < std::min(kMost, compiled.loops.size()); ++k) {
    const LoopNote& l = compiled.loops[k];
    std::string what = l.vectorized ? fmt::format("vectorized, {} floats at a time", l.bytes / 4)
                                    : "not vectorized: " + l.why;
    if (l.checked) what += ", after a test that the pointers do not overlap";
    text += indented(inked(in_column(fmt::format("line {:<4} {}", l.line, what)), Ink::dim));
  }
  if (compiled.loops.size() > kMost)
    text += indented(inked(fmt::format("and {} loops more", compiled.loops.size() - kMost), Ink::dim));
  return text;
}

std::string answer_text(const Step& step, const Answer& a) {
  const auto seconds = fmt::format("{:.1f} s", a.compiled.seconds);
  if (a.outcome == Outcome::missing || a.outcome == Outcome::harness)
    return inked(std::string(name_of(a.outcome)) + ": " + a.text, Ink::red) + "\n";
  // Show the compiler's message, and nothing else.
  if (!a.compiles())
    return line(1, "compiles?", "no", Ink::red) + first_error(a.compiled.message) + stuck_text(step) + "\n";
  std::string text = line(1, "compiles?", "yes, in " + seconds, Ink::green);
  text += warnings_once(a.compiled.message);
  // Loops that stayed scalar matter when the code is right but not yet fast.
  if (a.safe() && !a.passed()) text += loops_text(a.compiled);
  const std::string what = std::string(name_of(a.outcome)) + ": " + a.text;
  const std::string diagnosis = diagnosis_text(a, diagnose(step, a));
  // Code that exits, prints or accesses forbidden memory is not judged by its values.
  const bool wrong = a.outcome == Outcome::wrong || a.outcome == Outcome::no_variant;
  if (a.right())
    text += line(2, "right?",
                 fmt::format("yes, in {} cases: every value within what rounding can explain", a.cases),
                 Ink::green);
  else if (wrong)
    text += line(2, "right?", what, Ink::red) + (a.failure ? fields_text(*a.failure) : "");
  else
    text += line(2, "right?", "not known yet: what 3 says comes first", Ink::dim);
  if (wrong && !a.printed.empty()) text += indented("it printed:") + indented(beginning_of(a.printed));
  if (!wrong && !a.safe())
    text += line(3, "safe?", what, Ink::red) + (a.failure ? fields_text(*a.failure) : "");
  if (a.safe()) {
    text += line(3, "safe?", "yes: nothing written that is not its own, the same twice", Ink::green);
    text += races_text(step, a);
    text += speed_text(step, a);
    if (a.outcome == Outcome::unchanged) text += indented(inked(what, Ink::red));
  }
  text += indented(in_column(diagnosis));
  std::istringstream next(next_text(step, a));
  std::string first;
  std::getline(next, first);
  text += line(5, "next", first, Ink::bold);
  for (std::string l; std::getline(next, l);) text += indented(in_column(l));
  return text;
}

std::string step_text(const Step& step, int hints) {
  const StepLesson lesson = lesson_of(step);
  const auto count = std::min(size_t(std::max(0, hints)), lesson.hints.size());
  std::string text = fmt::format("{}  {}\n", inked("Step " + step.name, Ink::bold), lesson.title);
  // A learner who asks for a hint has read the text.
  if (hints > 0) {
    if (size_t(hints) > lesson.hints.size())
      text += fmt::format("There are {} hints.\n", lesson.hints.size());
  } else {
    const std::string before = fmt::format("from {0}; its lesson: klab explain {0}", step.parent->id);
    text += inked(before, Ink::dim) + "\n\n" + typeset(lesson.text, {.hints = false, .width = paper().width});
    if (!lesson.hints.empty()) text += inked(stuck_text(step) + "\n", Ink::dim);
  }
  for (size_t k = 0; k < count; ++k)
    text += "\n" + inked(fmt::format("Hint {} of {}", k + 1, lesson.hints.size()), Ink::bold) + "\n" +
            typeset(lesson.hints[k], {.hints = true, .width = paper().width});
  return text;
}

}  // namespace klab
