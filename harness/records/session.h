// Sessions: the same ladders timed by several processes, one after the other.
//
// Addresses, pages and the state of the machine vary between processes and stay the same within one. So
// measurements that will be compared with another day's use many short processes rather than one long one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

/// One ladder of a session.
struct SessionTask {
  std::string op;
  BenchShape shape;
  int threads = 0;                    // 0: all
  std::vector<std::string> variants;  // ids, including those that their speed is compared with
};

/// How sessions are measured. A baseline and the runs compared with it use the same plan.
struct SessionPlan {
  std::vector<SessionTask> tasks;
  int rounds = 5;
  double sample_seconds = 0.004;
  double call_cap_seconds =
      0.06;  // slower variants would take most of the time; a lab has smaller sizes for them
  uint64_t seed = 1;
  bool check = false;  // check before timing; only the first session of a run does
  bool count = false;  // count CUDA variants as well
};

/// The files of a baseline.
///   reports/recorded/<machine>/<name>.csv    rows of all sessions
///   reports/recorded/<machine>/<name>.json   machine, ceilings, noise floor of each variant, plan
struct Baseline {
  std::string rows_file, record_file;
};

/// Throws std::invalid_argument if the name is not a plain file name.
Baseline baseline_at(const std::string& root, const std::string& machine, const std::string& name);

/// Runs one session in this process and returns its rows, numbered `session`. `stop` works as in
/// BenchOptions.
Recording run_session(const SessionPlan& plan, int session, const std::function<bool()>& stop);

/// Starts this program again for one session and returns its rows, or `program`, another build of the same kernels. If the
/// process fails, throws std::runtime_error with its output.
Recording run_session_apart(const SessionPlan& plan, int session, const std::string& program = "");

/// Appends the rows of another session to the run.
void append(Recording& run, Recording more);

/// Returns the plan that repeats a recording: the same ops, shapes, threads and variants.
SessionPlan plan_of(const Recording& recorded);

/// Converts to and from text, for the process that runs it.
std::string to_text(const SessionPlan& plan);
SessionPlan plan_from_text(const std::string& text);

}  // namespace klab
