// Formats a step, and the answer to a work file, for learners.
#pragma once

#include <string>

#include "harness/step/answer.h"
#include "harness/step/step.h"

namespace klab {

/// Returns the five answers in order: does it compile, is it right, is it safe, is it faster, what next.
std::string answer_text(const Step& step, const Answer& answer);

/// Returns the compiler's report on the loops, one line each.
std::string loops_text(const Compiled& compiled);

/// Returns a step's section of the lesson, formatted, and how to continue.
std::string step_text(const Step& step, int hints);

}  // namespace klab
