// Runs a variant that failed at many small cases: which of them fail, and how its values differ.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/laws.h"

namespace klab {

/// How the values of one output differ from the reference at the smallest case with wrong values, of several elements if there
/// is one.
struct WrongValues {
  std::string tensor;  // empty: no case has wrong values
  std::vector<int64_t> shape;
  int64_t elements = 0, wrong = 0;
  int64_t infinite = 0;  // infinite where a finite value is expected
  int64_t finite = 0;    // finite where an infinity is expected
  int64_t nan = 0;       // NaN where a number is expected
  int64_t zero = 0;      // 0 where another value is expected
  double relative = 0;   // the largest relative error of the wrong elements that are finite
  double limit = 0;      // the value at which larger ones stop: 65504; 0 if there is none
};

struct Survey {
  int failed = 0, passed = 0;
  int random_failed = 0;  // of the failed ones, those with random inputs
  std::string common;     // in_common()
  WrongValues values;
  std::optional<Law> law;  // law_of() the cases with wrong values
};

struct SurveyOptions {
  uint64_t seed = 1;
  std::vector<int64_t> shape;  // the shape at which it failed; empty: unknown
  std::string inputs;          // Failure::inputs: the pattern that it names is tried more often
  bool watched = false;        // CUDA on the host: watch every access, since that is what found it
  double seconds = 6;  // no further shape starts after this time of its thread, or three times as long
};

/// Runs the variant at the cheaper shapes of its check, each with two patterns of inputs, two alignments and, on the CPU,
/// two numbers of threads, so that a failing case has passing neighbors that differ from it by one property.
Survey survey(const LabOp& op, const Variant& variant, const SurveyOptions& options);

nlohmann::json to_json(const Survey& survey);
Survey survey_from(const nlohmann::json& j);

}  // namespace klab
