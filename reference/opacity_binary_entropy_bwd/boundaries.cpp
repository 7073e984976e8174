// Where opacity_binary_entropy_bwd turns: rays that are empty or opaque, and the ends of the range in which the gradient is not 0.
#include "reference/boundaries.h"
#include "reference/opacity_binary_entropy_bwd/opacity_binary_entropy_bwd.h"

namespace klab {

using Entropy = OpacityBinaryEntropyBwd;

const Boundary<Entropy> kLow(
    "lowest opacity", {"opacity"}, {"o < Forward::low || o > Forward::high"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.opacity[r], double(Entropy::Forward::low));
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        if (random() % 4 == 0)
          drawn(x.opacity[r]) = random() % 2 ? Entropy::Forward::low : Entropy::Forward::high;
    });
const Boundary<Entropy> kHigh("highest opacity", {"opacity"}, {}, kThreeSides, [](const auto& a, Sides& met) {
  for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.opacity[r], double(Entropy::Forward::high));
});
const Boundary<Entropy> kEmpty("opacity", {"opacity"}, {}, kOn | kAbove, [](const auto& a, Sides& met) {
  for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.opacity[r], 0);
});
const Boundary<Entropy> kOpaque("opacity of an opaque ray", {"opacity"}, {}, kBelow | kOn,
                                [](const auto& a, Sides& met) {
                                  for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.opacity[r], 1);
                                });

}  // namespace klab
