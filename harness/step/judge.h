// The process in which a learner's variant runs: loads it, checks it, times it, and says what it saw line by line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/step/step.h"

namespace klab {

/// What the judging process is told.
struct JudgeJob {
  std::string step;                  // its name
  std::vector<std::string> modules;  // CPU: one; CUDA: plain and traced
  uint64_t seed = 1;
  int threads = 0;
  bool time = true;
  double check_seconds = 8;  // no new shape is begun after that long
  /// Not empty: only this folder may be written to, nothing outside of klab and the system be read.
  std::string confined_to;
  bool variant = false;  // `step` is the id of a variant whose own file was changed
};

std::string to_text(const JudgeJob& job);
JudgeJob job_from_text(const std::string& text);

/// The whole life of the process, but for main: results go to `result_channel` as lines of JSON,
///   {"at": "loading" | "trying" | "checking" | "timing" | "counting"}   what is being done from now on
///   {"check": {...}} {"times": {...}} {"counts": {...}}          what came of it
///   {"wrong": "..."}                                             the file itself is not what it should be
///   {"done": true}
/// Returns the exit code.
int judge(const JudgeJob& job);

}  // namespace klab
