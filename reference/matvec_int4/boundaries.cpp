// Where matvec_int4 turns: the smallest and the largest weights of either half byte.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/matvec_int4/matvec_int4.h"

namespace klab {

const Boundary<MatvecInt4> kLow("low half of a byte", {"q"}, {}, kThreeSides, [](const auto& x, Sides& met) {
  for (int64_t i = 0; i < x.shape.n * x.shape.blocks * 16; ++i) met.compare(x.q[i] & 15, 8);
});
const Boundary<MatvecInt4> kHigh("high half of a byte", {"q"}, {}, kThreeSides,
                                 [](const auto& x, Sides& met) {
                                   for (int64_t i = 0; i < x.shape.n * x.shape.blocks * 16; ++i)
                                     met.compare(x.q[i] >> 4, 8);
                                 });
const Boundary<MatvecInt4> kEnds("smallest weights in both halves", {"q"}, {}, kEither,
                                 [](const auto& x, Sides& met) {
                                   for (int64_t i = 0; i < x.shape.n * x.shape.blocks * 16; ++i)
                                     met.holds(x.q[i] == 0);
                                 });
const Boundary<MatvecInt4> kLargest("largest weights in both halves", {"q"}, {}, kEither,
                                    [](const auto& x, Sides& met) {
                                      for (int64_t i = 0; i < x.shape.n * x.shape.blocks * 16; ++i)
                                        met.holds(x.q[i] == 255);
                                    });
const Boundary<MatvecInt4> kNothing(
    "row of weights that are all zero", {"q"}, {}, kEither,
    [](const auto& x, Sides& met) {
      const int64_t bytes = 16 * x.shape.blocks;
      for (int64_t i = 0; bytes > 0 && i < x.shape.n; ++i)
        met.holds(std::all_of(x.q + i * bytes, x.q + (i + 1) * bytes, [](uint8_t q) { return q == 0x88; }));
    },
    [](const auto& x, Generator& random) {
      const int64_t bytes = 16 * x.shape.blocks;
      for (int64_t i = 0; bytes > 0 && i < x.shape.n; ++i)
        if (random() % 4 == 0) std::fill_n(&drawn(x.q[i * bytes]), bytes, uint8_t{0x88});
    });
const Boundary<MatvecInt4> kScale("scale is denormal", {"scale"}, {}, kEither, [](const auto& x, Sides& met) {
  for (int64_t i = 0; i < x.shape.n * x.shape.blocks; ++i)
    if ((x.scale[i] & 0x7FFF) != 0) met.holds((x.scale[i] & 0x7C00) == 0);
});

}  // namespace klab
