// What a learner is told about a work file, as data: does it compile, is it right, is it safe, is it faster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/step/compile.h"
#include "harness/step/counts.h"
#include "harness/step/speed.h"
#include "harness/step/step.h"

namespace klab {

/// How a work file failed, told apart.
enum class Outcome {
  passed,
  missing,    // there is no file
  unchanged,  // it still is the parent's code
  does_not_compile,
  forbidden,         // calls a peer library, klab's own variants, other code
  no_variant,        // does not register what it should
  wrong,             // values or gradients
  out_of_bounds,     // wrote or read where it must not
  changes_inputs,    // wrote to what it was given to read
  stale_results,     // keeps results from call to call
  nondeterministic,  // two runs differ
  unsafe,            // another finding of the CUDA executor; threads or a state of the process left behind
  throws,            // an exception
  prints,            // on standard output or error
  exits,             // ends the process
  crashes,           // by a signal
  loops,             // does not come to an end
  too_much_memory,   // more than it is allowed
  no_faster,         // the step asks for speed
  undecided,         // speed could not be told
  untimed,           // right and safe; nobody asked whether it is faster
  harness,           // klab itself could not do it
};
const char* name_of(Outcome outcome);

struct Answer {
  Outcome outcome = Outcome::harness;
  std::string text;   // one line about the outcome
  Compiled compiled;  // what the compiler said
  int cases = 0;      // compared
  double worst = 0;   // error over bound, of what passed
  std::optional<Failure> failure;
  std::optional<StepTimes> times;
  SpeedVerdict speed;
  std::optional<CountVerdict> counts;  // CUDA on the host
  std::string counted_at;
  std::vector<WastefulAccess> wasteful;
  std::string printed;         // by the kernel, on standard output and error
  bool shares_memory = false;  // CUDA: blocks have shared memory
  double seconds = 0;          // from the file to the answer

  bool passed() const { return outcome == Outcome::passed; }
  /// Nothing is wrong with it, as far as it was looked at.
  bool good() const { return passed() || outcome == Outcome::untimed; }
  /// How far the four questions were answered.
  bool compiles() const { return compiled.good; }
  bool right() const;
  bool safe() const;
};

struct CheckStepOptions {
  uint64_t seed = 1;
  int threads = 0;
  bool time = true;
  double seconds = 60;       // the longest that one stage of the judge may take
  double check_seconds = 8;  // see JudgeJob
  int64_t bytes = 0;         // memory, 0: no limit
  bool untrusted = false;    // confined, and held to less
  bool variant = false;      // the step is step_of() a variant: see mutate.h
  std::string known_object;  // what compiles to this (Compiled::object) is unchanged, and not judged
  std::function<void(const std::string& doing)> progress;
};

/// Compiles the file in a folder of its own, has it judged by another process, and puts together what came out. Does not
/// throw for anything the file does; Outcome::harness is for klab's own trouble.
Answer check_work(const Step& step, const std::filesystem::path& file, const CheckStepOptions& options);

}  // namespace klab
