// The process that runs a learner's variant: it loads, checks and times it, and reports results line by line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/step/step.h"

namespace klab {

/// Input of the judging process.
struct JudgeJob {
  std::string step;                  // name of the step
  std::vector<std::string> modules;  // as Compiled has them
  uint64_t seed = 1;
  int threads = 0;
  bool time = true;
  double check_seconds = 8;  // no further shape is started after this time
  /// If not empty, only this folder is writable, and only klab and the system are readable.
  std::string confined_to;
  bool variant = false;            // `step` is the id of a variant whose own file was changed
  bool survey = false;             // after a failure, find out which cases fail
  std::vector<int64_t> digest_of;  // not empty: only run this shape, and say a digest of the outputs
};

std::string to_text(const JudgeJob& job);
JudgeJob job_from_text(const std::string& text);

/// Runs the whole process except main(). Writes results to `result_channel` as lines of JSON:
///   {"at": "loading" | "trying" | "checking" | "timing" | "counting"}   the stage that begins
///   {"check": {...}} {"times": {...}} {"counts": {...}}                the results
///   {"survey": {...}}                                                  after a failure, if asked for
///   {"digest": "..."}                                                  of the outputs at JudgeJob::digest_of
///   {"wrong": "..."}                                                   the file itself is invalid
///   {"done": true}
/// Returns the exit code.
int judge(const JudgeJob& job);

}  // namespace klab
