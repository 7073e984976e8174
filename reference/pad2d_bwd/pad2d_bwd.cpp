#include "reference/pad2d_bwd/pad2d_bwd.h"

#include <cmath>

namespace klab {

void Pad2dBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const PadShape& s = x.shape;
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    double *d_x = x.d_x + plane * s.h * s.w, *of = magnitude.d_x + plane * s.h * s.w;
    std::fill_n(d_x, s.h * s.w, 0.0);
    std::fill_n(of, s.h * s.w, 0.0);
    double border = 0, border_abs = 0;
    for (int64_t i = 0; i < s.oh(); ++i)
      for (int64_t j = 0; j < s.ow(); ++j) {
        const int64_t row = i - s.pad_y, column = j - s.pad_x;
        const double d_y = x.d_y[(plane * s.oh() + i) * s.ow() + j];
        if (s.inside(row, column) || s.copies()) {
          const int64_t at = s.source(row, s.h) * s.w + s.source(column, s.w);
          d_x[at] += d_y;
          of[at] += std::abs(d_y);
        } else {
          border += d_y, border_abs += std::abs(d_y);
        }
      }
    const double share = s.kind == PadShape::mean ? 1 / double(s.h * s.w) : 0;
    for (int64_t k = 0; k < s.h * s.w; ++k) d_x[k] += share * border, of[k] += share * border_abs;
  }
}

}  // namespace klab
