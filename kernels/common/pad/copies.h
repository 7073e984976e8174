// Where a padded picture shows a pixel, for kernels of pad2d_bwd that collect gradients.
#pragma once

#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {

/// Positions along one axis that show a pixel: [begin, end) in front of the picture and behind it. Empty unless the kind copies.
struct PadCopies {
  int64_t front_begin = 0, front_end = 0, behind_begin = 0, behind_end = 0;
};

/// Returns the positions of the border that show pixel p of an axis, counted from the first pixel: from -pad to size + pad.
constexpr PadCopies pad_copies(const PadShape& s, int64_t p, int64_t size, int64_t pad) {
  PadCopies c;
  if (s.kind == PadShape::replicate) {
    if (p == 0) c.front_begin = -pad;
    if (p == size - 1) c.behind_begin = size, c.behind_end = size + pad;
  } else if (s.kind == PadShape::circular) {
    if (p - size >= -pad) c.front_begin = p - size, c.front_end = p - size + 1;
    if (p + size < size + pad) c.behind_begin = p + size, c.behind_end = p + size + 1;
  } else if (s.kind == PadShape::reflect) {
    const int64_t behind = 2 * (size - 1) - p;
    if (p > 0 && p <= pad) c.front_begin = -p, c.front_end = 1 - p;
    if (behind >= size && behind < size + pad) c.behind_begin = behind, c.behind_end = behind + 1;
  }
  return c;
}

/// Calls visit(position) for the pixel itself and for each position of the border that shows it.
template <class Visit>
constexpr void each_pad_copy(const PadCopies& c, int64_t p, const Visit& visit) {
  visit(p);
  for (int64_t k = c.front_begin; k < c.front_end; ++k) visit(k);
  for (int64_t k = c.behind_begin; k < c.behind_end; ++k) visit(k);
}

}  // namespace klab
