// The part of a lab's page about one step: its text and, separately, its hints.
#pragma once

#include <string>
#include <vector>

#include "harness/step/step.h"

namespace klab {

struct StepLesson {
  std::string title;               // "turned in registers"
  std::string text;                // Markdown, without the hints
  std::vector<std::string> hints;  // in order, Markdown; the last one is the code removed from the text
};

/// Extracts a step's lesson from a page's text. A section belongs to a step if its heading begins with the
/// rung's name or with its id. If a lab has a forward and a backward rung of one name, the backward's heading
/// says "backward". A hint whose summary names ops, "Hint 1 (sh_bwd)", is only for these.
StepLesson lesson_in(const std::string& page, const Step& step);

/// Extracts it from the lab's page. Throws std::runtime_error if that cannot be read.
StepLesson lesson_of(const Step& step);

}  // namespace klab
