// The file a learner works in: the parent's code under a header that asks for the change.
#pragma once

#include <filesystem>
#include <string>

#include "harness/step/step.h"

namespace klab {

/// Returns the initial contents of the work file.
std::string start_text(const Step& step);

/// Returns the same for another variant's source: klab's own answer as a work file, for example.
std::string work_text(const Step& step, const Variant& from);

/// Returns the path of the work file.
std::filesystem::path work_path(const Step& step);

/// Writes the file unless it exists. Returns true if it was written.
bool start_work(const Step& step);

/// Returns whether the code, apart from comments and whitespace, is still the initial one.
bool is_unchanged(const Step& step, const std::string& text);

/// Returns the differences of two texts in the format of diff -u, with `context` lines around each.
std::string unified_diff(const std::string& from, const std::string& to, const std::string& from_name,
                         const std::string& to_name, int context = 3);

}  // namespace klab
