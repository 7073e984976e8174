// What klab step does besides showing a step: checking a file, watching it, klab's answer, where one stands.
#pragma once

#include <string>

#include "harness/step/answer.h"
#include "harness/step/step.h"

namespace klab {

struct StepCheckOptions {
  bool time = true;
  bool json = false;
  double seconds = 60;
  std::string with;  // "own" or "parent": klab's file in place of the learner's; nothing is recorded then
};

/// Checks the work file, prints the answer, records the try. Returns the exit code.
int check_step(const Step& step, const StepCheckOptions& options);

/// All steps whose name begins so (all for ""), with klab's own rung, or the parent, as the file: is every answer the one it
/// should be? Those whose rung can run at no size of its lab on this machine are left, with the reason. Throws
/// std::invalid_argument when no name begins so.
int check_every_step(const std::string& begin, const StepCheckOptions& options);

/// check_step, and again whenever the file is saved, until interrupted.
int watch_step(const Step& step, const StepCheckOptions& options);

/// The way from the parent to klab's rung, and what the lesson says about it.
int show_solution(const Step& step);

/// Where one is on the path, and what comes next.
int show_path(const std::string& lab);

/// Moves the work file aside and begins again.
int restart_step(const Step& step);

}  // namespace klab
