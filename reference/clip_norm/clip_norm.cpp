#include "reference/clip_norm/clip_norm.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void ClipNorm::arrange(const Args<float>& x, Generator& random) {
  double squares = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) squares += double(x.gradient[i]) * double(x.gradient[i]);
  // Gradients of timed sizes are not too long: the first call would shorten the input of the next ones.
  const bool too_long = random.widely ? random() % 4 != 0 : x.shape.n < (1 << 20);
  *const_cast<float*>(x.limit) = float(std::clamp(std::sqrt(squares) * (too_long ? 0.5 : 2.0), 1e-20, 1e30));
}

void ClipNorm::reference(const Args<double>& x, const Args<double>& magnitude) {
  double squares = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) squares += x.gradient[i] * x.gradient[i];
  *x.norm = *magnitude.norm = std::sqrt(squares);
  const double scale = *x.norm > *x.limit ? *x.limit / *x.norm : 1;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.gradient[i] *= scale;
    magnitude.gradient[i] = std::abs(x.gradient[i]);
  }
}

}  // namespace klab
