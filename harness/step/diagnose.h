// Recognizes common mistakes from their effects.
#pragma once

#include <string>
#include <vector>

#include "harness/step/answer.h"

namespace klab {

struct Diagnosis {
  std::string mistake;   // "unguarded edge"
  std::string sentence;  // effect and remedy
  std::string read;      // command that shows the section in the lesson
};

/// Returns the mistakes that the answer suggests, most likely first; none if no known one fits.
std::vector<Diagnosis> diagnose(const Step& step, const Answer& answer);

/// Returns what failing cases have in common, as a sentence: "All 212 failing cases have nhwc=1, ...". Empty if that is
/// unknown.
std::string common_text(const Answer& answer);

/// Returns that sentence first, then the mistakes.
std::string diagnosis_text(const Answer& answer, const std::vector<Diagnosis>& list);

}  // namespace klab
