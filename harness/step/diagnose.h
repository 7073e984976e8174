// Known mistakes, recognized from what they do.
#pragma once

#include <string>
#include <vector>

#include "harness/step/answer.h"

namespace klab {

struct Diagnosis {
  std::string mistake;   // "unguarded edge"
  std::string sentence;  // what it does and what to do
  std::string read;      // command that shows the place in the lesson
};

/// What the answer looks like, most likely first; none where nothing known fits.
std::vector<Diagnosis> diagnose(const Step& step, const Answer& answer);

std::string diagnosis_text(const std::vector<Diagnosis>& list);

}  // namespace klab
