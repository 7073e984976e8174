// The page of a step: its text, the file to change, hints, counts of the parent and the goal, recorded times, and klab's answer,
// folded.
#pragma once

#include <string>

#include "harness/cli/site/site_frame.h"

namespace klab {

/// Returns the title of a step's page: "Step 05.04: the tile in a cache".
std::string step_title(const Step& step);

/// Returns the contents of the page. `live` comes after the title: what the page of `klab step --page` shows of the learner's file.
/// Throws std::runtime_error if the lesson or a source cannot be read.
std::string step_html(const Step& step, const PageContext& page, const std::string& live = "");

/// Returns a source with its lines numbered; those marked CHANGE or ADD BELOW stand out.
std::string code_html(const std::string& source);

/// Returns differences of the form of diff -u, colored.
std::string diff_html(const std::string& diff);

}  // namespace klab
