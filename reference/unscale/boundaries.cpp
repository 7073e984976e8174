// Where unscale turns: gradients that are not finite become zeros.
#include "reference/boundaries.h"
#include "reference/unscale/unscale.h"

namespace klab {
namespace {

constexpr int32_t kAllFinite = 0x7FFFFFFF;

const Boundary<Unscale> kFinite("all are finite", {"first"}, {"*x.first == 0x7FFFFFFF"}, kBelow | kOn,
                                [](const auto& a, Sides& met) { met.compare(*a.first, kAllFinite); });
const Boundary<Unscale> kLast(
    "highest place of an entry that is not finite", {"first"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      if (*a.first == kAllFinite - 1) met.holds(true);
    },
    [](const auto& x, Generator&) { drawn(*x.first) = kAllFinite - 1; });
const Boundary<Unscale> kZero(
    "first entry is the one that is not finite", {"first"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      if (*a.first == 0) met.holds(true);
    },
    [](const auto& x, Generator&) { drawn(*x.first) = 0; });

}  // namespace
}  // namespace klab
