// Tries the gate itself: the same code against itself and with planted slowdowns, on an idle machine and next to threads that
// spin, again and again. What it records says how often the gate is wrong.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/comparison.h"
#include "harness/records/numbers.h"

namespace klab {

struct GateTrials {
  std::vector<std::string> what;           // ops; empty: kTrialOps
  std::string size;                        // part of a size's name; empty: the size of the lab's tour
  int trials = 20;                         // for each op and load
  int sessions = 16;                       // of either side
  int rounds = 5;                          // a session
  std::vector<int> loads = {0, 1, 2};      // threads of another program that spin meanwhile
  std::vector<double> planted = {10, 35};  // slowdowns of one variant, in percent
  double threshold = 0.02;
  std::string out;  // .json; trials that it holds are not run again
};
inline constexpr Range kTrialCounts{1, 100000};
inline constexpr Range kTrialLoads{0, 256};         // threads
inline constexpr Range kTrialSlowdowns{0.1, 1000};  // percent
inline constexpr const char* kTrialOps[] = {"vector_add", "softmax_xent_fwd", "matmul"};

/// Runs the trials that `out` lacks and prints what all of them say. The record is written after each trial, so that an
/// interrupted experiment goes on where it ended. A slowdown is planted by multiplying the measured times of the fastest
/// rung: both planted slowdowns and none are judged from the same sessions, in as many looks as klab regress takes.
/// Returns the exit code. Throws std::invalid_argument for a record of another machine, build or plan.
int run_gate_trials(const GateTrials& o);

/// Multiplies the times of one variant, as if each of its calls had taken that much longer.
Recording with_slowdown(Recording run, const std::string& variant, double factor);

/// Returns the largest rate that is compatible with that number of hits, with 95 % confidence (Clopper & Pearson 1934): 0 of 20
/// bound it at 14 %.
double rate_bound(int hits, int trials);

}  // namespace klab
