// The answer about a work file, as data: whether it compiles, is right, is safe, and is faster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/survey.h"
#include "harness/step/compile.h"
#include "harness/step/counts.h"
#include "harness/step/source_places.h"
#include "harness/step/speed.h"
#include "harness/step/step.h"

namespace klab {

/// The outcomes of checking a work file.
enum class Outcome {
  passed,
  missing,    // the file does not exist
  unchanged,  // still the parent's code
  does_not_compile,
  forbidden,         // calls a peer library, klab's own variants, or other code
  no_variant,        // does not register its variant
  wrong,             // wrong values or gradients
  out_of_bounds,     // wrote or read outside its tensors
  changes_inputs,    // wrote to its inputs
  stale_results,     // keeps results between calls
  nondeterministic,  // two runs differ
  unsafe,            // another finding of the CUDA executor, or leftover threads or process state
  throws,            // throws an exception
  prints,            // prints on standard output or error
  exits,             // ends the process
  crashes,           // ended by a signal
  loops,             // does not terminate
  too_much_memory,   // exceeds its limit
  no_faster,         // the step asks for speed
  undecided,         // the timing was inconclusive
  untimed,           // right and safe; not timed
  harness,           // klab itself failed
};
const char* name_of(Outcome outcome);

struct Answer {
  Outcome outcome = Outcome::harness;
  std::string text;   // one line about the outcome
  Compiled compiled;  // result and messages of the compiler
  int cases = 0;      // number compared
  double worst = 0;   // error over bound, in checks that passed
  std::optional<Failure> failure;
  std::optional<Survey> survey;   // of a failure: which cases fail
  SourceLine crash;               // where it crashed; line 0: unknown
  std::vector<SourceLine> unset;  // declarations without a value, if results depend on what they hold
  std::optional<StepTimes> times;
  SpeedVerdict speed;
  std::optional<CountVerdict> counts;  // for CUDA on the host
  std::string counted_at;
  std::vector<WastefulAccess> wasteful;
  std::string printed;          // by the kernel, on standard output and error
  bool shares_memory = false;   // for CUDA: blocks use shared memory
  bool starts_threads = false;  // the file names threads or parallel regions
  std::string note;             // of a check that passed: "threads watched, no race"
  double seconds = 0;           // total time of the check

  bool passed() const { return outcome == Outcome::passed; }
  /// Returns whether no error was found by the checks that ran.
  bool good() const { return passed() || outcome == Outcome::untimed; }
  /// These return how far the four questions were answered yes.
  bool compiles() const { return compiled.good; }
  bool right() const;
  bool safe() const;
};

struct CheckStepOptions {
  uint64_t seed = 1;
  int threads = 0;
  bool time = true;
  double seconds = 60;       // limit for one stage of the judge
  double check_seconds = 8;  // see JudgeJob
  int64_t bytes = 0;         // memory limit, 0: none
  bool untrusted = false;    // confined, with tighter limits
  bool variant = false;      // the step is step_of() a variant: see mutate.h
  std::string known_object;  // a file that compiles to this (Compiled::object) is unchanged, and not judged
  std::function<void(const std::string& doing)> progress;
};

/// Compiles the file in its own folder, has it judged by another process, and combines the results. The file
/// cannot make it throw; Outcome::harness means that klab itself failed.
Answer check_work(const Step& step, const std::filesystem::path& file, const CheckStepOptions& options);

}  // namespace klab
