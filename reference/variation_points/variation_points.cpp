#include "reference/variation_points/variation_points.h"

#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"

namespace klab {

void VariationPoints::arrange(const Args<float>& x, Generator& random) {
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.seed)[k] = uint32_t(random());
  const_cast<uint32_t*>(x.step)[0] = uint32_t(random.widely ? random() : random() % 1000);
  if (random.widely) const_cast<uint32_t*>(x.step)[1] = uint32_t(random());
  *const_cast<float*>(x.h) = random.widely ? float(1 + random() % 255) / 1024 : 1.0F / 64;
}

void VariationPoints::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t n = x.shape.points;
  for (int64_t p = 0; p < n; ++p) {
    const auto words = dropout::random_words({uint32_t(p), 2, x.step[0], x.step[1]}, {x.seed[0], x.seed[1]});
    for (int64_t axis = 0; axis < 3; ++axis)
      for (int64_t moved = 0; moved < 4; ++moved) {
        const double at =
            (1 - *x.h) * double(words[size_t(axis)] >> 8) * 0x1p-24 + (moved == axis + 1 ? *x.h : 0);
        x.positions[(axis * 4 + moved) * n + p] = magnitude.positions[(axis * 4 + moved) * n + p] = at;
      }
  }
}

}  // namespace klab
