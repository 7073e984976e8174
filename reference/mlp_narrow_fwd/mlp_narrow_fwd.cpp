#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

#include <cmath>
#include <vector>

namespace klab {

void MlpNarrowFwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  const MlpFwd::Shape net = s.network();
  // Samples that are all zero, and so is every unit then.
  for (int64_t i = 0; random.widely && i < s.n; ++i)
    for (int64_t c = 0, zero = random() % 8 == 0; zero && c < s.in; ++c)
      const_cast<float*>(x.x)[c * s.n + i] = 0;
  int64_t at = 0, row = 0;
  for (int64_t l = 0; l < net.layers(); ++l) {
    const int64_t rows = net.to(l), numbers = rows * net.from(l);
    draw_narrow(s.format, numbers, const_cast<uint16_t*>(x.halves) + in_halves(s.format, at),
                const_cast<int8_t*>(x.bytes) + in_bytes(s.format, at), in_bytes(s.format, rows),
                const_cast<float*>(x.factors) + in_bytes(s.format, row),
                float(1 / std::sqrt(double(net.from(l)))), random);
    at += numbers, row += rows;
  }
}

void MlpNarrowFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const MlpFwd::Shape net = x.shape.network();
  std::vector<double> weights(size_t(net.weights()));
  int64_t at = 0, row = 0;
  for (int64_t l = 0; l < net.layers(); ++l)
    for (int64_t r = 0; r < net.to(l); ++r, ++row)
      for (int64_t c = 0; c < net.from(l); ++c, ++at) {
        const auto number = double(narrow_number(x.shape.format, x.halves, x.bytes, at));
        weights[size_t(at)] = x.shape.format == narrow_format::int8 ? number * x.factors[row] : number;
      }
  MlpFwd::reference({.shape = net, .x = x.x, .weights = weights.data(), .y = x.y},
                    {.shape = net, .x = nullptr, .weights = nullptr, .y = magnitude.y});
}

}  // namespace klab
