// sh_fwd.cpu.01_naive: one function at a time.
//
// CHANGE    the naive loops: for each function, all directions, each product from its factors.
// EXPECT    reads the directions once a function and multiplies the same pairs over and over.
// NUMERICS  one rounding a factor.
#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {
namespace {

float basis(int64_t k, float x, float y, float z) {
  switch (k) {
    case 0:
      return 0.28209479177387814F;
    case 1:
      return -0.48860251190291992F * y;
    case 2:
      return 0.48860251190291992F * z;
    case 3:
      return -0.48860251190291992F * x;
    case 4:
      return 1.0925484305920790F * x * y;
    case 5:
      return -1.0925484305920790F * y * z;
    case 6:
      return 0.94617469575755997F * z * z - 0.31539156525252001F;
    case 7:
      return -1.0925484305920790F * x * z;
    case 8:
      return 0.54627421529603948F * x * x - 0.54627421529603948F * y * y;
    case 9:
      return -1.7701307697799305F * x * x * y + 0.59004358992664352F * y * y * y;
    case 10:
      return 2.8906114426405540F * x * y * z;
    case 11:
      return 0.45704579946446577F * y - 2.2852289973223288F * y * z * z;
    case 12:
      return 1.8658816629505769F * z * z * z - 1.1195289977703462F * z;
    case 13:
      return 0.45704579946446577F * x - 2.2852289973223288F * x * z * z;
    case 14:
      return 1.4453057213202770F * x * x * z - 1.4453057213202770F * y * y * z;
    default:
      return -0.59004358992664352F * x * x * x + 1.7701307697799305F * x * y * y;
  }
}

KLAB_SCALAR_FUNCTION void run(const ShFwd::Args<float>& x) {
  const auto [n, degree] = x.shape;
  for (int64_t k = 0; k < degree * degree; ++k) {
    KLAB_SCALAR_LOOP
    for (int64_t i = 0; i < n; ++i)
      x.basis[k * n + i] = basis(k, x.directions[i], x.directions[n + i], x.directions[2 * n + i]);
  }
}

KLAB_VARIANT(ShFwd, {.run = run});

}  // namespace
}  // namespace klab
