// Where axpy turns: a factor of zero.
#include "reference/boundaries.h"
#include "reference/axpy/axpy.h"

namespace klab {
namespace {

using Args = Axpy::Args<double>;
using Drawn = Axpy::Args<float>;

const Boundary<Axpy> kZero(
    "zero times a number", {"a", "x"}, {}, kEither,
    [](const Args& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i)
        if (a.x[i] != 0) met.holds(*a.a == 0);
    },
    [](const Drawn& x, Generator& random) { drawn(*x.a) = random() % 2 ? 0.0F : -0.0F; });

}  // namespace
}  // namespace klab
