// Where pad2d_fwd turns: the edges of the picture, and the kinds of border.
#include "reference/boundaries.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {
namespace {

/// Calls visit(position, size) for each row and each column with the border.
void each_position(const PadShape& s, auto&& visit) {
  for (int64_t i = 0; i < s.oh(); ++i) visit(i - s.pad_y, s.h);
  for (int64_t j = 0; j < s.ow(); ++j) visit(j - s.pad_x, s.w);
}

const Boundary<Pad2dFwd> kFirst("position and the first pixel", {"pad_y", "pad_x"},
                                {"row >= 0", "column >= 0", "p >= 0", "p < 0 ?"}, kThreeSides,
                                [](const auto& a, Sides& met) {
                                  each_position(a.shape, [&](int64_t p, int64_t) { met.compare(p, 0); });
                                });
const Boundary<Pad2dFwd> kLast("position and the last pixel", {"h", "w", "pad_y", "pad_x"},
                               {"row < h", "column < w", "p < size"}, kThreeSides,
                               [](const auto& a, Sides& met) {
                                 each_position(a.shape,
                                               [&](int64_t p, int64_t size) { met.compare(p, size - 1); });
                               });
const Boundary<Pad2dFwd> kReplicate("replicate", {"kind"}, {"kind == replicate"}, kEither,
                                    [](const auto& a, Sides& met) {
                                      met.holds(a.shape.kind == PadShape::replicate);
                                    });
const Boundary<Pad2dFwd> kCircular("circular", {"kind"}, {"kind == circular"}, kEither,
                                   [](const auto& a, Sides& met) {
                                     met.holds(a.shape.kind == PadShape::circular);
                                   });
const Boundary<Pad2dFwd> kReflect("reflect", {"kind"}, {"kind == reflect"}, kEither,
                                  [](const auto& a, Sides& met) {
                                    met.holds(a.shape.kind == PadShape::reflect);
                                  });
const Boundary<Pad2dFwd> kMean("mean", {"kind"}, {"kind == PadShape::mean ?", "pixels > 0 ?"}, kEither,
                               [](const auto& a, Sides& met) { met.holds(a.shape.kind == PadShape::mean); });

}  // namespace
}  // namespace klab
