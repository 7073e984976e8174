// The actions of klab step other than showing a step: check a file, watch it, show klab's answer, start
// over.
#pragma once

#include <functional>
#include <string>

#include "harness/step/answer.h"
#include "harness/step/step.h"

namespace klab {

struct StepCheckOptions {
  bool time = true;
  bool json = false;
  double seconds = 60;
  std::string with;  // "own" or "parent": checks klab's file instead of the learner's, and records nothing
};

/// Checks the work file, records the try, and prints the answer. `doing` receives the stages.
Answer answered_work(const Step& step, const StepCheckOptions& options,
                     const std::function<void(const std::string&)>& doing = {});

/// Calls `saved` now and whenever the work file is saved, until interrupted.
void on_every_save(const Step& step, const std::function<void()>& saved);

/// Checks the work file, prints the answer, and records the try. Returns the exit code.
int check_step(const Step& step, const StepCheckOptions& options);

/// Checks all steps whose name begins with `begin` (all for ""), with klab's own rung or the parent as the
/// file, and verifies the answers. Steps whose rung can run at no size of its lab on this machine are skipped
/// with the reason. Throws std::invalid_argument if no name matches.
int check_every_step(const std::string& begin, const StepCheckOptions& options);

/// Runs check_step whenever the file is saved, until interrupted.
int watch_step(const Step& step, const StepCheckOptions& options);

/// Shows the changes from the parent to klab's rung, and the lesson's text about them.
int show_solution(const Step& step);

/// Moves the work file aside and starts over.
int restart_step(const Step& step);

}  // namespace klab
