#include "harness/step/diagnose.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <regex>

#include "harness/core/source.h"

namespace klab {
namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

class Doctor {
 public:
  Doctor(const Step& step, const Answer& a) : step_(step), a_(a) {}

  std::vector<Diagnosis> run() {
    explain_last_words();
    if (a_.failure) explain_failure(*a_.failure);
    if (a_.outcome == Outcome::crashes) explain_crash();
    if (a_.outcome == Outcome::stale_results)
      add("results kept between calls",
          "Right at first and wrong, or suspiciously the same, when the same buffers hold other data, or "
          "when most of the result is there already: every call must compute all of it from its inputs.");
    if (a_.outcome == Outcome::loops)
      add("a loop that does not end",
          "At this size a loop's end is never met: look for an index that skips over its bound (!= where < "
          "belongs), that is not advanced on one way through the body, or advanced by a product that is 0 "
          "here.");
    if (a_.outcome == Outcome::prints)
      add("a print left in",
          "A kernel that prints is timed printing. Take it out: while the result is still wrong, what it "
          "prints is shown with the answer.");
    if (a_.outcome == Outcome::no_faster || a_.outcome == Outcome::passed) explain_speed();
    return std::move(list_);
  }

 private:
  /// What the C library says when it finds its own notes between allocations overwritten.
  void explain_last_words() {
    static const std::regex damage(
        "(malloc|free|realloc|munmap_chunk)\\(\\): [^\n]*|malloc_consolidate[^\n]*|corrupted [^\n]*|double "
        "free[^\n]*"
        "|stack smashing detected");
    std::smatch said;
    if (a_.good() || !std::regex_search(a_.printed, said, damage)) return;
    add("written beyond an array", fmt::format("The C library ended it (\"{}\"), since something was written "
                                               "beyond the end of an array of its own or of "
                                               "an output, or freed twice. Compare the size of each array "
                                               "with the largest index that is written.",
                                               said.str()));
  }

  void add(const std::string& mistake, std::string sentence) {
    const std::string lab = step_.lab->id.substr(0, 2);
    list_.push_back({mistake, std::move(sentence), "klab explain " + lab + " " + section_name(*step_.own)});
  }

  void explain_failure(const Failure& f) {
    const std::string& note = f.note;
    if (!a_.unset.empty()) {
      std::string lines;
      for (size_t k = 0; k < std::min<size_t>(3, a_.unset.size()); ++k)
        lines += fmt::format("{}line {}: {}", k == 0 ? "" : "; ", a_.unset[k].line, a_.unset[k].text);
      return add("read before set",
                 "With zeros in its variables it computes something else than with a pattern in them: one is "
                 "read before "
                 "it has a value. Declared without one: " +
                     lines);
    }
    if (f.fault == Fault::finding) return explain_finding(note);
    if (f.fault == Fault::race)
      return add("a race",
                 "Two threads touch the same bytes, and one of them writes. It is a mistake although the "
                 "values were right: "
                 "give each thread elements of its own, or order the accesses by a barrier, a lock or an "
                 "atomic operation.");
    if (f.fault == Fault::out_of_bounds)
      return add(
          "unguarded edge",
          "It reaches where no element is, " + note +
              ". Sizes that no tile divides end inside a tile: guard the access, or treat the rest apart.");
    if (f.fault == Fault::nondeterministic) return explain_two_runs();
    if (f.fault == Fault::not_written)
      return add(
          "elements without an owner",
          "Outputs hold poison before the call, and some of it is there afterwards: " + note +
              ". Does the loop, or the grid, reach every element, the last ones of a size that nothing "
              "divides included?");
    if (f.fault != Fault::wrong_value && f.fault != Fault::non_finite) return;
    explain_inputs(f);
    if (f.fault == Fault::non_finite)
      explain_non_finite(f);
    else
      explain_values(f);
    if (list_.empty()) explain_pattern(f);
    const bool place = f.fault == Fault::non_finite && a_.survey && a_.survey->law && !a_.survey->law->values;
    if (place && !list_.empty()) list_.front().sentence += " " + a_.survey->law->sentence;
  }

  void explain_two_runs() {
    if (step_.cuda())
      return add(a_.shares_memory ? "missing barrier" : "two writers of one element",
                 "With another order of the threads the result is another: a thread reads what another has "
                 "not written "
                 "yet, or two write to one place. Put a barrier between the phases, or give each element one "
                 "owner.");
    if (a_.starts_threads)
      return add("threads in one place",
                 "Two runs on the same data differ: two threads write to one place, or one reads what "
                 "another has not "
                 "written yet. Give each thread its own part, and let them meet before results are read.");
    add("something that differs from call to call",
        "Two runs on the same data differ, and it starts no threads: it keeps something between calls, or "
        "its result "
        "depends on addresses, or on memory that it has not written.");
  }

  /// Only some inputs fail.
  void explain_inputs(const Failure& f) {
    // "all failing cases have huge inputs", not "all failing cases with random inputs have n > 1".
    const size_t property = a_.survey ? a_.survey->common.find(" have ") : std::string::npos;
    const bool only = property != std::string::npos && has(a_.survey->common.substr(property), " inputs");
    if (has(f.inputs, "denormal") && (only || !a_.survey))
      add("denormals flushed",
          "Only inputs near the smallest numbers fail: somewhere a mode or an approximation makes numbers "
          "below 1e-38 zero.");
    if (has(f.inputs, "huge") && f.fault == Fault::wrong_value && (only || !a_.survey))
      add("rounding errors that outlive their cause",
          "It is right with ordinary inputs and wrong where a few are huge. What was rounded off while "
          "something large was in a sum stays when that is subtracted again: let nothing in that must come "
          "out.");
    const bool law = a_.survey && a_.survey->law && a_.survey->law->values;
    if (list_.empty() && f.fault == Fault::wrong_value && !has(f.inputs, "random inputs") && !law &&
        nearly(f.got, f.expected))
      inaccurate(a_.survey && a_.survey->random_failed > 0
                     ? "The first digits are right. Random inputs fail as well, so a small term may have a "
                       "wrong factor."
                     : std::string("Random inputs pass, and the first digits are right.") +
                           (has(f.inputs, "denormal") || has(f.inputs, "wide")
                                ? " A small constant, like an epsilon, may be missing or in another place: "
                                  "inside a root "
                                  "in place of outside."
                                : ""));
  }

  /// Infinities and NaN, which other wrong values of the survey say nothing about.
  void explain_non_finite(const Failure& f) {
    const bool negative = f.got.starts_with("-"), opposite = negative && !f.expected.starts_with("-");
    if (has(f.got, "inf"))
      return add(
          "an overflow",
          std::string("It became infinite on the way: ") +
              (opposite ? "the logarithm of a sum whose terms all vanished, or " : "") +
              "a sum, a power or a quotient outgrew the largest float, 3.4e38, though the result would not. "
              "What keeps the arguments small, like a maximum subtracted first?");
#if defined(__x86_64__)
    // Processors of this kind make a NaN negative; those that lie around inputs and in outputs are positive.
    if (negative && !has(f.inputs, "not finite"))
      add("an operation without a result",
          "This NaN was computed, not read: 0 / 0, infinity minus infinity or times 0, the root or logarithm "
          "of a "
          "negative number. Is a divisor 0 at first, like a count that is raised too late?");
#endif
  }

  /// What the values themselves show.
  void explain_values(const Failure& f) {
    // Values that stop at a limit are one number as well.
    const bool limited = a_.survey && a_.survey->values.limit != 0 && a_.survey->law &&
                         a_.survey->law->mistake == "one number for all";
    if (a_.survey && a_.survey->law && a_.survey->law->values && !limited) return explain_law();
    if (!a_.survey || a_.survey->values.tensor.empty()) {
      if (f.fault == Fault::wrong_value && nearly(f.got, f.expected))
        inaccurate("Its first digits are right.");
      return;
    }
    const WrongValues& v = a_.survey->values;
    if (v.limit != 0)
      return add(
          "the range of a format",
          fmt::format(
              "Values beyond {:.10g} stop there: that is the largest number of a format, or of a clamp, that "
              "is too narrow for what this op may compute.",
              v.limit));
    if (v.finite > 0)
      return add("the range of a format",
                 "Where the result is infinite, it is a finite number: something stops at the largest number "
                 "of a format, "
                 "or clamps.");
    if (v.nan == 0 && v.infinite == 0 && v.relative < 1e-2 && 4 * v.wrong >= v.elements)
      return inaccurate(fmt::format("The largest relative error is {:.1g}.", v.relative));
    if (v.wrong > 0 && v.zero == v.wrong)
      add("zeros where values belong",
          "All wrong elements are 0: a sum begins again too late, a part of the work is skipped, or its "
          "result is not "
          "stored.");
  }

  void explain_law() { add(a_.survey->law->mistake, a_.survey->law->sentence); }

  void inaccurate(const std::string& why) {
    if (!list_.empty()) return;  // another mistake explains the digits that are lost
    add("not accurate enough", why +
                                   " Digits are lost: a difference of nearly equal numbers (cancellation), "
                                   "an approximation with too few terms, "
                                   "a constant with too few digits, or a narrower format. The bound next to "
                                   "it is what float arithmetic allows "
                                   "here.");
  }

  void explain_pattern(const Failure& f) {
    if (f.fault == Fault::wrong_value && a_.survey && a_.survey->law) return explain_law();
    const std::string pattern = pattern_of(f.note);
    if (has(pattern, "every "))
      add("one lane, or one stride, wrong", "Wrong is " + pattern +
                                                ": as many apart as a vector has lanes or a block has "
                                                "threads, so one of them has a wrong index.");
    else if (pattern.starts_with("the last") &&
             (!a_.survey || has(a_.survey->common, " mod ") || has(a_.survey->common, " odd")))
      add("off-by-one at a tile's edge",
          "Wrong: " + pattern +
              ". That is what a loop over whole tiles leaves over, or does twice. Compare its bound with the "
              "size: i + tile <= n, and a tail for the rest.");
    else if (!pattern.empty() && !pattern.starts_with("the last"))
      add("one part of the output",
          "Only a part is wrong: " + pattern + ". Which code makes just that part?");
    else if (f.fault == Fault::non_finite)
      add("not written, or read outside",
          "Outputs hold NaN before the call, and so does what lies around the inputs: either this element "
          "has no owner (does the grid, or the loop, reach the last one?), or it was made from a place "
          "next to the input.");
    else if (common_text(a_).empty() && a_.survey && a_.survey->failed > 0 && a_.survey->passed > 0)
      add("it depends on the values",
          fmt::format("{} of {} cases fail, and neither sizes nor kinds of input "
                      "tell which: the numbers do. A part of the formula is 0 in the "
                      "cases that pass, a sum or a "
                      "product outgrows an integer that is too narrow, digits "
                      "are lost where nearly equal numbers are subtracted "
                      "(cancellation), or a comparison decides otherwise "
                      "where two are equal.",
                      a_.survey->failed, a_.survey->failed + a_.survey->passed));
    else if (common_text(a_).empty())
      add("no pattern in the values",
          "Take the smallest failing size, write down by hand which inputs this one output needs, and "
          "compare them "
          "with the ones that the loop meets.");
  }

  /// Returns whether the values agree to three digits.
  static bool nearly(const std::string& got, const std::string& expected) {
    const double a = std::strtod(got.c_str(), nullptr), b = std::strtod(expected.c_str(), nullptr);
    return b != 0 && std::abs(a - b) < 1e-3 * std::abs(b);
  }

  /// Returns "the last row" from "34 of 1156 elements are wrong: the last row"; empty if the elements form no
  /// pattern.
  static std::string pattern_of(const std::string& note) {
    for (const char* before : {"wrong: ", "wrong, in "})
      if (const size_t at = note.find(before); at != std::string::npos) {
        const std::string rest = note.substr(at + std::string(before).size());
        return rest.substr(0, rest.find(';'));
      }
    return "";
  }

  void explain_finding(const std::string& note) {
    if (note.starts_with("race on shared"))
      add("missing barrier",
          "Two threads of a block meet at one word of shared memory with no __syncthreads() between (within "
          "one warp __syncwarp() is enough): one belongs behind the writing, and one before the next "
          "writing.");
    else if (note.starts_with("race on global"))
      add("two writers of one element",
          "Two threads write one place in global memory: give each element one owner, or add with atomics.");
    else if (note.starts_with("out of bounds") && has(note, "shared memory"))
      add("a shared array that is too small",
          "A thread reaches beyond an array in shared memory: compare its size, and the bytes that the "
          "launch asks for, "
          "with the largest index of the block's threads.");
    else if (note.starts_with("out of bounds"))
      add("unguarded edge",
          "A thread beyond the data's end reads or writes: the grid covers more than the array, so every "
          "access needs its if (i < n).");
    else if (note.starts_with("barrier divergence") || note.starts_with("deadlock"))
      add("a barrier not all threads reach",
          "Some threads return or skip before __syncthreads(): guard the accesses, not the barrier.");
    else if (note.starts_with("misaligned"))
      add("misaligned vector access",
          "A float4 must begin at a multiple of 16 bytes. Rows whose length is no multiple of 4 do not, nor "
          "does any where the pointer itself does not, as \"off alignment\" in the inputs says.");
    else if (note.starts_with("uninitialized"))
      add("read before written",
          "It reads what was never written. Do writing and reading index the same way? Does every element "
          "have a thread that writes it: enough threads, none skipped by a guard, zeros where the data ends? "
          "A sum must begin with a value, not with what memory held.");
    else if (note.starts_with("inactive lane"))
      add("a shuffle from a lane that is not there",
          "All lanes of the mask must reach the shuffle, and all that reach it be in the mask: take it out "
          "of the branch, or name every lane, ~0u.");
    else if (note.starts_with("missing wait"))
      add("missing wait",
          "The asynchronous copy is used before it has landed: wait for its group, then the barrier.");
  }

  void explain_crash() {
    const std::string place =
        a_.crash.line > 0 ? fmt::format("Line {}: {} ", a_.crash.line, a_.crash.text) : "";
    const std::string& how = a_.failure ? a_.failure->note : a_.text;
    if (has(how, "SEGV") || has(how, "BUS"))
      add("unguarded edge, far out",
          place +
              "It reached memory that belongs to no array: an index far beyond the end of a tensor or of an "
              "array of its own, often a "
              "size of 0 minus 1 "
              "or a product that does not fit into int. An aligned vector store to an address that is not "
              "aligned ends like that too.");
    else if (has(how, "FPE"))
      add("a division by zero",
          place + "An integer division met a zero: a size of 0 is legal where the contract allows it.");
    else if (!place.empty())
      add("the line that crashes", place);
  }

  void explain_speed() {
    for (const WastefulAccess& w : a_.wasteful) {
      if (w.shared)
        add("bank conflicts",
            fmt::format("Line {}: {:.1f} wavefronts/request where {:.1f} would do, since lanes are {} bytes "
                        "apart and meet in one bank. Pad the rows, permute the columns, or give neighboring "
                        "words to neighboring threads.",
                        w.line, w.cost, w.ideal, w.stride));
      else
        add(w.write ? "uncoalesced store" : "uncoalesced load",
            fmt::format("Line {}: {:.1f} sectors/request where {:.1f} would do; neighboring lanes are {} "
                        "bytes apart. Let neighbors touch neighbors.",
                        w.line, w.cost, w.ideal, w.stride));
      if (list_.size() >= 2) break;
    }
    if (a_.counts) explain_grid();
    if (a_.passed() || a_.counts) return;
    explain_loops();
    explain_threads();
  }

  void explain_grid() {
    for (const auto& l : a_.counts->lines)
      if (l.name == kThreads && 2 * l.own <= l.parent && l.yours >= 2 * l.own)
        add("threads without work",
            fmt::format(
                "It starts {} threads, klab's rung {}. A thread or block that now does what several did "
                "leaves the others nothing to do: make the grid smaller where the kernel is launched.",
                l.yours, l.own));
  }

  void explain_loops() {
    for (const LoopNote& l : a_.compiled.loops) {
      if (l.vectorized && l.checked)
        return add(
            "pointers that may overlap",
            fmt::format("Line {}: the compiler cannot know that output and inputs are apart and tests it at "
                        "every call, or gives up. Copy the pointers into locals declared with __restrict.",
                        l.line));
      if (l.vectorized && l.bytes <= 16 && a_.times && a_.times->expected > 2)
        return add(
            "narrow vectors",
            fmt::format("Line {}: the compiler made vectors of {} floats, which every processor of this kind "
                        "has. klab is compiled for all of them; wider ones are chosen when it runs, by code "
                        "in Highway's frame, which the file's header shows where klab's rung has it.",
                        l.line, l.bytes / 4));
      if (!l.vectorized && (has(l.why, "alias") || has(l.why, "data ref") || has(l.why, "dependence")))
        return add(
            "aliasing stops the vectors",
            fmt::format("Line {} stays scalar: {}. A store through one pointer may change what another "
                        "reads; copy pointers and sizes into locals, the pointers declared with __restrict.",
                        l.line, l.why));
    }
  }

  void explain_threads() {
    const bool threads = has(step_.own->rung, "thread") || has(step_.own->rung, "parallel");
    if (!threads || a_.outcome == Outcome::unchanged || a_.speed.speed == Speed::undecided ||
        a_.speed.speed == Speed::some)
      return;
    add("threads in each other's way",
        "More threads and no gain: they write into one cache line (false sharing), wait for each other, or "
        "are woken for too little work. Give each a piece that begins on a line's border, and small sizes "
        "one thread.");
  }

  const Step& step_;
  const Answer& a_;
  std::vector<Diagnosis> list_;
};

}  // namespace

std::vector<Diagnosis> diagnose(const Step& step, const Answer& answer) { return Doctor(step, answer).run(); }

std::string common_text(const Answer& answer) {
  if (!answer.survey || answer.survey->common.empty()) return "";
  std::string text = answer.survey->common + ".";
  text[0] = char(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string diagnosis_text(const Answer& answer, const std::vector<Diagnosis>& list) {
  std::string text = common_text(answer);
  if (!text.empty()) text += "\n";
  for (const Diagnosis& d : list) text += d.mistake + "? " + d.sentence + "\n  read: " + d.read + "\n";
  return text;
}

}  // namespace klab
