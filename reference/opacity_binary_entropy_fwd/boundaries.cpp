// Where opacity_binary_entropy_fwd turns: rays that are empty or opaque, and the ends of the range that opacities are clamped to.
#include "reference/boundaries.h"
#include "reference/opacity_binary_entropy_fwd/opacity_binary_entropy_fwd.h"

namespace klab {

using Entropy = OpacityBinaryEntropyFwd;

const Boundary<Entropy> kLow(
    "lowest opacity", {"opacity"}, {"std::clamp<double>(x.opacity[r], low, high)"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.opacity[r], double(Entropy::low));
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        if (random() % 4 == 0) drawn(x.opacity[r]) = random() % 2 ? Entropy::low : Entropy::high;
    });
const Boundary<Entropy> kHigh("highest opacity", {"opacity"}, {}, kThreeSides, [](const auto& a, Sides& met) {
  for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.opacity[r], double(Entropy::high));
});
const Boundary<Entropy> kEmpty("opacity", {"opacity"}, {}, kOn | kAbove, [](const auto& a, Sides& met) {
  for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.opacity[r], 0);
});
const Boundary<Entropy> kOpaque("opacity of an opaque ray", {"opacity"}, {}, kBelow | kOn,
                                [](const auto& a, Sides& met) {
                                  for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.opacity[r], 1);
                                });

}  // namespace klab
