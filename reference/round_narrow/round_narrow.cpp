#include "reference/round_narrow/round_narrow.h"

#include <cmath>
#include <limits>

#include "reference/generator.h"

namespace klab {

void RoundNarrow::arrange(const Args<float>& x, Generator& random) {
  Cast::arrange({.shape = {x.shape.n, x.shape.format}, .x = x.x, .scale = x.factor, .out = nullptr}, random);
  // A NaN has many bit patterns and none is the right one: they are drawn where the check asks for them.
  float* const numbers = const_cast<float*>(x.x);  // arrange() owns the inputs
  for (int64_t i = 0; i < x.shape.n; ++i)
    if (std::isnan(numbers[i])) numbers[i] = std::numeric_limits<float>::infinity();
  for (int k = 0; k < 3; ++k) x.lost[k] = int32_t(random() % 1001);
}

void RoundNarrow::reference(const Args<double>& x, const Args<double>&) {
  const NarrowFormat& f = format_of(x.shape.format);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const double product = double(float(x.x[i]) * float(*x.factor)), y = decode(f, encode(f, product));
    x.y[i] = y;
    x.lost[0] += product != 0;
    x.lost[1] += product != 0 && y == 0;
    x.lost[2] += std::isfinite(product) && std::isinf(y);
  }
}

}  // namespace klab
