// klab bench in sessions: what a baseline is made of.
#pragma once

#include <string>
#include <vector>

#include "harness/records/session.h"

namespace klab {

/// klab bench --session N --plan FILE --out FILE, as regress and --baseline start it: one session in this process.
int run_planned_session(const std::string& plan_file, int session, const std::string& out);

/// klab bench --baseline NAME: sessions, each a process of its own, kept as a baseline of this machine.
int record_baseline(SessionPlan plan, const std::string& name, int sessions);

}  // namespace klab
