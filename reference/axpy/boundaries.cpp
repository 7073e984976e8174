// Where axpy turns: a factor of zero.
#include "reference/boundaries.h"
#include "reference/axpy/axpy.h"

namespace klab {

const Boundary<Axpy> kZero(
    "zero times a number", {"a", "x"}, {}, kEither,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i)
        if (a.x[i] != 0) met.holds(*a.a == 0);
    },
    [](const auto& x, Generator& random) { drawn(*x.a) = random() % 2 ? 0.0F : -0.0F; });

}  // namespace klab
