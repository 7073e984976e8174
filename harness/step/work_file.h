// The file a learner works in: the parent's code under a header that asks for the change.
#pragma once

#include <filesystem>
#include <string>

#include "harness/step/step.h"

namespace klab {

/// What the work file begins as.
std::string start_text(const Step& step);

/// The same from a variant's source; what klab's own answer looks like as a work file.
std::string work_text(const Step& step, const Variant& from);

/// Where it lies.
std::filesystem::path work_path(const Step& step);

/// Writes the file unless there is one. True when it was written.
bool start_work(const Step& step);

/// Whether the code, comments and spaces apart, is still that of the beginning.
bool is_unchanged(const Step& step, const std::string& text);

/// The differences of two texts in the form of diff -u, with that many lines around each.
std::string unified_diff(const std::string& from, const std::string& to, const std::string& from_name,
                         const std::string& to_name, int context = 3);

}  // namespace klab
