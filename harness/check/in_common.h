// What all failing cases of a check have and passing ones have not: "all 212 failing cases have nhwc=1".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/check/alignment.h"
#include "harness/core/fill.h"

namespace klab {

/// One run of a variant, and whether it failed.
struct SurveyedCase {
  std::vector<int64_t> shape;
  Pattern pattern = Pattern::random;
  Alignment alignment = Alignment::whole;
  int64_t threads = 0;  // 0: the variant takes no number of threads
  bool failed = false;
};

/// The sizes of an op that the sentence may name.
struct SurveyedSizes {
  std::vector<std::string> names;
  std::vector<bool> parameter;     // one a name; parameters are not compared with other dimensions
  std::span<const int64_t> tiles;  // further divisors to try
};

/// Returns the simplest property that every failing case has and few passing ones have, as a sentence. Empty if no case
/// fails or if nothing tells them apart. Says so if all cases fail.
std::string in_common(const SurveyedSizes& sizes, const std::vector<SurveyedCase>& cases);

}  // namespace klab
