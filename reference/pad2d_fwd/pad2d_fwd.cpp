#include "reference/pad2d_fwd/pad2d_fwd.h"

#include <cmath>

namespace klab {

void Pad2dFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const PadShape& s = x.shape;
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    const double* picture = x.x + plane * s.h * s.w;
    double sum = 0, sum_abs = 0;
    for (int64_t k = 0; k < s.h * s.w; ++k) sum += picture[k], sum_abs += std::abs(picture[k]);
    const double pixels = s.kind == PadShape::mean ? double(s.h * s.w) : 0;
    for (int64_t i = 0; i < s.oh(); ++i)
      for (int64_t j = 0; j < s.ow(); ++j) {
        const int64_t row = i - s.pad_y, column = j - s.pad_x, at = (plane * s.oh() + i) * s.ow() + j;
        if (s.inside(row, column) || s.copies()) {
          x.y[at] = picture[s.source(row, s.h) * s.w + s.source(column, s.w)];
          magnitude.y[at] = std::abs(x.y[at]);
        } else {
          x.y[at] = pixels > 0 ? sum / pixels : 0;
          magnitude.y[at] = pixels > 0 ? sum_abs / pixels : 0;
        }
      }
  }
}

}  // namespace klab
