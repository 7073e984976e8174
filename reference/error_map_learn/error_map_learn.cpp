#include "reference/error_map_learn/error_map_learn.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void ErrorMapLearn::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  const auto some = [&] {
    const float loss = random() % 8 == 0 ? 0.0F : float(random() % 1000) * 1e-3F;
    return random.widely ? std::ldexp(loss, int(random() % 20) - 10) : loss;
  };
  *const_cast<int32_t*>(x.count) = int32_t(s.rays - int64_t(random() % 3) % (s.rays + 1));
  // Neighbors often meet in a block, as do the rays of a view with few blocks.
  const int64_t few = random() % 2 ? s.blocks : std::min<int64_t>(s.blocks, 3);
  for (int64_t r = 0; r < s.rays; ++r) {
    const_cast<int32_t*>(x.block)[r] = random() % 16 == 0 ? -1 : int32_t(random() % uint64_t(few));
    const_cast<float*>(x.value)[r] = some();
  }
  for (int64_t b = 0; b < s.blocks; ++b) x.losses[b] = random() % 3 == 0 ? -1.0F : some();
}

void ErrorMapLearn::reference(const Args<double>& x, const Args<double>& magnitude) {
  constexpr double keep = double(kKeep), take = double(1 - kKeep);
  for (int64_t b = 0; b < x.shape.blocks; ++b) magnitude.losses[b] = std::abs(x.losses[b]);
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    if (r >= *x.count || x.block[r] < 0) continue;
    double &e = x.losses[x.block[r]], &largest = magnitude.losses[x.block[r]];
    e = e < 0 ? x.value[r] : keep * e + take * x.value[r];
    largest = std::max(largest, x.value[r]);
  }
}

}  // namespace klab
