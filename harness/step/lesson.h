// What the lab's page says about one step: its text and, apart, its hints.
#pragma once

#include <string>
#include <vector>

#include "harness/step/step.h"

namespace klab {

struct StepLesson {
  std::string title;               // "turned in registers"
  std::string text;                // Markdown, without the hints
  std::vector<std::string> hints;  // in order, Markdown; the code that stands in the text is the last one
};

/// From a page's text. A section belongs to a step when its heading begins with the rung's name, or with the id; where
/// a lab has a forward and a backward rung of one name, the backward's heading says "backward". A hint whose summary
/// names ops, "Hint 1 (sh_bwd)", is for these only.
StepLesson lesson_in(const std::string& page, const Step& step);

/// From the lab's page. Throws std::runtime_error where that cannot be read.
StepLesson lesson_of(const Step& step);

}  // namespace klab
