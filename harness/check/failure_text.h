// A failed check in words, the same wherever it is told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/check/check.h"

namespace klab {

/// "wrong value in c[3,17]"
std::string where_text(const Failure& failure);

/// "wrong value in c[3,17], expected 1.5, got 2"
std::string values_text(const Failure& failure);

/// All of it in one line: values_text, then what was allowed, the note, and the inputs in brackets. What is empty is
/// left out.
std::string failure_text(const Failure& failure);

/// What there is to say beyond where_text, each with its name ("expected", "got", "bound", "inputs", "note"), those that
/// are not empty.
std::vector<std::pair<std::string, std::string>> failure_fields(const Failure& failure);

}  // namespace klab
