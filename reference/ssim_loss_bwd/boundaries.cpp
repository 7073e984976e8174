// Where ssim_loss_bwd turns: the sign of the difference, 0 where both pictures are equal.
#include "reference/boundaries.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"

namespace klab {

const Boundary<SsimLossBwd> kSign(
    "picture and target", {"image", "target", "weight"}, {"off > 0 ?", "off < 0 ? -1"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; a.weight[0] < 1 && i < 3 * a.shape.pixels(); ++i)
        met.compare(a.image[i], a.target[i]);
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < 3 * x.shape.pixels(); ++i)
        if (random() % 4 == 0) drawn(x.image[i]) = x.target[i];
    });
const Boundary<SsimLossBwd> kWindow("window and picture", {"width", "height"}, {}, kThreeSides,
                                    [](const auto& a, Sides& met) {
                                      met.compare(a.shape.width, int64_t{2 * SsimLossFwd::radius + 1});
                                    });

}  // namespace klab
