// A comparison of two runs, as people and build servers read it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/compare/comparison.h"

namespace klab {

struct ChangeTextOptions {
  bool list_missing = false;  // name what is in one run only, instead of counting it
  double threshold = 0.02;
};

/// A table, worst first, and what must be known to read it.
std::string change_text(const CompareResult& result, const ChangeTextOptions& options);

/// The same as Markdown, for a pull request.
std::string change_markdown(const CompareResult& result, const ChangeTextOptions& options);

nlohmann::json change_json(const CompareResult& result, int exit_code);

/// JUnit XML: SLOWER and wrong are failures, UNDECIDED is skipped.
std::string change_junit(const CompareResult& result);

/// "3 SLOWER, 1 FASTER, 20 SAME, 2 UNDECIDED".
std::string change_summary(const CompareResult& result);

}  // namespace klab
