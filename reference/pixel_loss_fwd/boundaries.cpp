// Where pixel_loss_fwd turns: from a parabola to a line.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

namespace klab {

const Boundary<PixelLossFwd> kTurn(
    "turn from parabola to line", {"prediction", "target", "kind"}, {"e > d"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; a.shape.kind != 0 && i < 3 * a.shape.n; ++i)
        met.compare(std::abs(a.prediction[i] - a.target[i]), double(PixelLossFwd::turn(a.shape.kind)));
    },
    [](const auto& x, Generator& random) {
      const float turn = PixelLossFwd::turn(x.shape.kind);
      for (int64_t i = 0; i < 3 * x.shape.n; ++i) {
        if (random() % 4 != 0) continue;
        drawn(x.target[i]) = 0;
        drawn(x.prediction[i]) = random() % 2 ? turn : -turn;
      }
    });
const Boundary<PixelLossFwd> kExact(
    "prediction and target", {"prediction", "target"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; i < 3 * a.shape.n; ++i) met.compare(a.prediction[i], a.target[i]);
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < 3 * x.shape.n; ++i)
        if (random() % 4 == 0) drawn(x.prediction[i]) = x.target[i];
    });
const Boundary<PixelLossFwd> kKinds("squared error", {"kind"}, {"kind != 0", "kind == 0 ?"}, kEither,
                                    [](const auto& a, Sides& met) { met.holds(a.shape.kind == 0); });
const Boundary<PixelLossFwd> kHuber("Huber loss", {"kind"}, {"kind == 1 ?"}, kEither,
                                    [](const auto& a, Sides& met) { met.holds(a.shape.kind == 1); });

}  // namespace klab
