#include "reference/error_map_weigh/error_map_weigh.h"

#include <cmath>

#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"

namespace klab {

void ErrorMapWeigh::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.seed)[k] = uint32_t(random());
  const_cast<uint32_t*>(x.step)[0] = uint32_t(random.widely ? random() : random() % 1000);
  if (random.widely) const_cast<uint32_t*>(x.step)[1] = uint32_t(random());
  *const_cast<int32_t*>(x.count) = int32_t(s.rays - int64_t(random() % 3) % (s.rays + 1));
  for (int64_t i = 0; i < s.views * s.list; ++i)
    const_cast<int32_t*>(x.blocks)[i] = int32_t(random() % (1U << 25));
}

void ErrorMapWeigh::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  for (int64_t r = 0; r < s.rays; ++r) {
    const auto words = dropout::random_words({uint32_t(r), 0, x.step[0], x.step[1]}, {x.seed[0], x.seed[1]});
    const auto view = int64_t(uint64_t(words[0]) * uint64_t(s.views) >> 32);
    const int64_t at = view * s.list + int64_t(uint64_t(words[1]) * uint64_t(s.list) >> 32);
    const bool drawn = r < *x.count;
    x.weight[r] *= drawn ? x.weights[at] : 1;
    x.block[r] = drawn ? x.blocks[at] : -1;
    magnitude.weight[r] = std::abs(x.weight[r]);
  }
}

}  // namespace klab
