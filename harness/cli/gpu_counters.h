// What Nsight Compute counted of one call on a GPU, beside what the host counted of the same call.
//
// klab trace VARIANT --metrics says what to ask for, --on-gpu makes the call that is watched, --counters FILE compares.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/cli/trace_text.h"
#include "harness/records/ncu_csv.h"

namespace klab {

struct ComparedCounter {
  std::string words;  // "global load sectors/request"
  double host = 0, gpu = 0;
  bool rate = false;    // of a request; these must agree,
  bool agrees() const;  // to the digit that is shown
};

/// Throws std::invalid_argument naming the metric that `gpu` lacks.
std::vector<ComparedCounter> compare_counters(const CountedRun& run, const std::map<std::string, double>& gpu,
                                              const std::string& file);

/// The sums that --metrics names, with commas between: Nsight Compute's option of that name takes it.
std::string metrics_of(const CountedRun& run);

std::string compared_text(const std::string& variant, const std::vector<ComparedCounter>& list);
nlohmann::ordered_json compared_json(const std::string& variant, const std::vector<ComparedCounter>& list);

}  // namespace klab
