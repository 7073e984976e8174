#include "reference/visible_limit/visible_limit.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void VisibleLimit::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  auto *begin = const_cast<int32_t*>(x.begin), *marched = const_cast<int32_t*>(x.ray_begin);
  const float stop = random.widely ? 0.25F * float(1 + random() % 64) : 9.21F;
  *const_cast<float*>(x.stop) = stop;
  std::uniform_real_distribution<float> unit(0, 1);
  const auto draw_raw = [&](int64_t from, int64_t to, bool dense, float thin = 0) {
    for (int64_t i = from; i < to; ++i)
      const_cast<float*>(x.raw)[i] = dense ? 4 * unit(random) - 1 - thin : 4 * unit(random) - 20;
  };
  for (int64_t i = 0; i < s.marched; ++i) const_cast<float*>(x.delta)[i] = unit(random) * 0.5F;
  for (int64_t r = 0; r < s.rays; ++r) {
    auto drawn = int64_t(random() % 3 ? random() % uint64_t(most) : 0);
    if (s.first > most) drawn += s.first;  // the pass begins far into its rays
    const int64_t all = std::min<int64_t>(s.marched - marched[r], drawn);
    const int64_t n = std::min<int64_t>(s.samples - begin[r], std::max<int64_t>(0, all - s.first));
    marched[r + 1] = marched[r] + int32_t(all);
    begin[r + 1] = begin[r] + int32_t(n);
    // Usually most rays stay transparent through all their samples, as after a first pass that has cut the
    // others, and also through as many again in the next call: a timed call continues where the last one
    // ended.
    const bool dense = random.widely || r % 8 == 7;
    // Some become opaque behind their 32nd sample or their 64th.
    const float thin = random.widely && n > 32 && random() % 2 ? 1 + 2 * unit(random) : 0;
    draw_raw(begin[r], begin[r + 1], dense, thin);
    x.limit[r] = 0x7F7F7F7F;
    x.optical_depth[r] = !dense || random() % 2 ? 0.0F : unit(random) * 12;
    // The sample that makes a ray opaque is a discrete question: none may come so near that rounding decides
    // it.
    double depth = double(x.optical_depth[r]);
    if (std::abs(depth - double(stop)) < 0.1) depth = double(x.optical_depth[r] = 0);
    for (int64_t i = 0; i < n; ++i) {
      float& delta = const_cast<float*>(x.delta)[marched[r] + s.first + i];
      const double density = std::exp(double(x.raw[begin[r] + i]));
      if (std::abs(depth + density * double(delta) - double(stop)) < 0.01) delta = 0;
      depth += density * double(delta);
    }
  }
  draw_raw(begin[s.rays], s.samples, true);
}

void VisibleLimit::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  for (int64_t r = 0; r < s.rays; ++r) {
    const int64_t n = x.begin[r + 1] - x.begin[r];
    double& depth = x.optical_depth[r];
    int64_t i = 0;
    for (; i < n && depth <= *x.stop; ++i)
      depth += std::exp(x.raw[x.begin[r] + i]) * x.delta[x.ray_begin[r] + s.first + i];
    if (n > 0 && depth > *x.stop) x.limit[r] = int32_t(s.first + i);
    magnitude.optical_depth[r] = depth;
  }
}

}  // namespace klab
