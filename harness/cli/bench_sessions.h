// klab bench in sessions, for baselines.
#pragma once

#include <string>
#include <vector>

#include "harness/records/session.h"

namespace klab {

/// Runs one session in this process, as started by regress and --baseline: klab bench --session N --plan FILE
/// --out FILE.
int run_planned_session(const std::string& plan_file, int session, const std::string& out);

/// Implements klab bench --baseline NAME: runs sessions in processes of their own, and keeps them as a
/// baseline of this machine.
int record_baseline(SessionPlan plan, const std::string& name, int sessions);

}  // namespace klab
