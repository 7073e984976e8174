// Where pixel_loss_bwd turns: the slope stays one from the turn on.
#include "reference/boundaries.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"

namespace klab {

const Boundary<PixelLossBwd> kTurn(
    "upper turn", {"prediction", "target", "kind"}, {"std::clamp(e, -d, d)"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; a.shape.kind != 0 && i < 3 * a.shape.n; ++i)
        met.compare(a.prediction[i] - a.target[i], double(PixelLossFwd::turn(a.shape.kind)));
    },
    [](const auto& x, Generator& random) {
      const float turn = PixelLossFwd::turn(x.shape.kind);
      for (int64_t i = 0; i < 3 * x.shape.n; ++i) {
        if (random() % 4 != 0) continue;
        drawn(x.target[i]) = 0;
        drawn(x.prediction[i]) = random() % 2 ? turn : -turn;
      }
    });
const Boundary<PixelLossBwd> kLower("lower turn", {"prediction", "target", "kind"}, {}, kThreeSides,
                                    [](const auto& a, Sides& met) {
                                      for (int64_t i = 0; a.shape.kind != 0 && i < 3 * a.shape.n; ++i)
                                        met.compare(a.prediction[i] - a.target[i],
                                                    -double(PixelLossFwd::turn(a.shape.kind)));
                                    });
const Boundary<PixelLossBwd> kExact(
    "prediction and target", {"prediction", "target"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; i < 3 * a.shape.n; ++i) met.compare(a.prediction[i], a.target[i]);
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < 3 * x.shape.n; ++i)
        if (random() % 4 == 0) drawn(x.prediction[i]) = x.target[i];
    });
const Boundary<PixelLossBwd> kKinds("squared error", {"kind"}, {"kind == 0 ?"}, kEither,
                                    [](const auto& a, Sides& met) { met.holds(a.shape.kind == 0); });

}  // namespace klab
