#include "reference/depth_loss_fwd/depths.h"

#include <cmath>

#include "reference/generator.h"

namespace klab::depths {

void arrange(int64_t rays, float* truth, Generator& random) {
  std::uniform_real_distribution<float> unit(0, 1);
  for (int64_t r = 0; r < rays; ++r) {
    truth[r] = random() % 3 == 0 ? 0.0F : 0.1F + unit(random);
    if (random.widely && random() % 2)
      truth[r] = std::exp2(60 * unit(random) - 50) * (random() % 8 ? 1.0F : -1.0F);
  }
}

}  // namespace klab::depths
