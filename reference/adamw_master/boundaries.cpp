// Where adamw_master turns: steps that are skipped, and masters in the middle between two weights.
#include <bit>

#include "reference/adamw_master/adamw_master.h"
#include "reference/boundaries.h"

namespace klab {

const Boundary<AdamwMaster> kSkipped("step is skipped", {"first"}, {"*x.first == kAllFinite"}, kBelow | kOn,
                                     [](const auto& a, Sides& met) {
                                       met.compare(*a.first, AdamwMaster::kAllFinite);
                                     });
const Boundary<AdamwMaster> kSkippedLate(
    "highest place of a step that is skipped", {"first"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      if (*a.first == AdamwMaster::kAllFinite - 1) met.holds(true);
    },
    [](const auto& x, Generator&) { drawn(*x.first) = AdamwMaster::kAllFinite - 1; });
const Boundary<AdamwMaster> kMiddle("master in the middle between two weights", {"master", "first"}, {},
                                    kEither, [](const auto& a, Sides& met) {
                                      for (int64_t i = 0;
                                           *a.first != AdamwMaster::kAllFinite && i < a.shape.n; ++i) {
                                        const auto bits = std::bit_cast<uint32_t>(float(a.master[i]));
                                        met.holds((bits & 0xFFFFU) == 0x8000U);
                                      }
                                    });
const Boundary<AdamwMaster> kFirst("first step", {"steps"}, {}, kOn | kAbove,
                                   [](const auto& a, Sides& met) { met.compare(*a.steps, 0); });
const NoBoundary<AdamwMaster> kRest({{"got == want || std::isnan(", "a relation between outputs"}});

}  // namespace klab
