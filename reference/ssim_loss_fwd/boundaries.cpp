// Where ssim_loss_fwd turns: windows that are wider than the picture.
#include "reference/boundaries.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {

const Boundary<SsimLossFwd> kWindow("window and picture", {"width", "height"}, {}, kThreeSides,
                                    [](const auto& a, Sides& met) {
                                      met.compare(a.shape.width, int64_t{2 * SsimLossFwd::radius + 1});
                                    });
const Boundary<SsimLossFwd> kExact(
    "picture and target", {"image", "target"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; i < 3 * a.shape.pixels(); ++i) met.compare(a.image[i], a.target[i]);
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < 3 * x.shape.pixels(); ++i)
        if (random() % 4 == 0) drawn(x.image[i]) = x.target[i];
    });

}  // namespace klab
