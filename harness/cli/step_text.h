// A step and the answer to a work file, as a learner reads them.
#pragma once

#include <string>

#include "harness/step/answer.h"
#include "harness/step/step.h"

namespace klab {

/// The five answers, in their order: does it compile, is it right, is it safe, is it faster, what next.
std::string answer_text(const Step& step, const Answer& answer);

/// What the compiler made of the loops, one line each.
std::string loops_text(const Compiled& compiled);

/// A step's section of the lesson, set for reading, and how to go on.
std::string step_text(const Step& step, int hints);

}  // namespace klab
