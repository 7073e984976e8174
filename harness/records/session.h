// Sessions: the same ladders timed by several processes, one after the other.
//
// Addresses, pages and what the machine does meanwhile differ from process to process and stay the same within
// one. So what is to be compared with another day is measured by many short processes rather than one long one.
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
  std::vector<std::string> variants;  // ids, with what their speed is compared to
};

/// How sessions are measured; the same for a baseline and for what is compared with it.
struct SessionPlan {
  std::vector<SessionTask> tasks;
  int rounds = 5;
  double sample_seconds = 0.004;
  double call_cap_seconds =
      0.06;  // slower variants would take all the time; a lab has smaller sizes for them
  uint64_t seed = 1;
  bool check = false;  // before timing; the first session of a run does
};

/// Where a baseline lies and what was taken with it.
///   reports/recorded/<machine>/<name>.csv    rows of all sessions
///   reports/recorded/<machine>/<name>.json   machine, ceilings, noise floor of each variant, plan
struct Baseline {
  std::string rows_file, record_file;
};

/// Throws std::invalid_argument for a name that is no plain file name.
Baseline baseline_at(const std::string& root, const std::string& machine, const std::string& name);

/// Runs one session in this process and returns its rows, numbered `session`. `stop` as in BenchOptions.
Recording run_session(const SessionPlan& plan, int session, const std::function<bool()>& stop);

/// Starts this program again for one session and returns its rows. Throws std::runtime_error with what the
/// process said when it fails.
Recording run_session_apart(const SessionPlan& plan, int session);

/// The rows of one run, of several sessions, appended.
void append(Recording& run, Recording more);

/// The plan that measures what a recording holds: same ops, shapes, threads and variants.
SessionPlan plan_of(const Recording& recorded);

/// As text for the process that runs it.
std::string to_text(const SessionPlan& plan);
SessionPlan plan_from_text(const std::string& text);

}  // namespace klab
