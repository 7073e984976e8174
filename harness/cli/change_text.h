// Formats a comparison of two runs for people and build servers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/compare/comparison.h"

namespace klab {

struct ChangeTextOptions {
  bool list_missing = false;  // list the entries that are in one run only, instead of counting them
  double threshold = 0.02;
};

/// Returns a table, worst first, with the notes needed to read it.
std::string change_text(const CompareResult& result, const ChangeTextOptions& options);

/// Returns the same as Markdown, for a pull request.
std::string change_markdown(const CompareResult& result, const ChangeTextOptions& options);

nlohmann::json change_json(const CompareResult& result, int exit_code);

/// Returns JUnit XML: SLOWER and wrong are failures, UNDECIDED is skipped.
std::string change_junit(const CompareResult& result);

/// Returns "3 SLOWER, 1 FASTER, 20 SAME, 2 UNDECIDED".
std::string change_summary(const CompareResult& result);

}  // namespace klab
