// sh_bwd.cpu.01_naive: one function at a time.
//
// CHANGE    the naive loops: for each function, all directions, its three derivatives added up in memory.
// EXPECT    reads and writes the gradient once a function.
// NUMERICS  one rounding a factor.
#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/sh_bwd/sh_bwd.h"

namespace klab {
namespace {

struct Slope {
  float x, y, z;
};

Slope slope(int64_t k, float x, float y, float z) {
  switch (k) {
    case 0:
      return {0, 0, 0};
    case 1:
      return {0, -0.48860251190291992F, 0};
    case 2:
      return {0, 0, 0.48860251190291992F};
    case 3:
      return {-0.48860251190291992F, 0, 0};
    case 4:
      return {1.0925484305920790F * y, 1.0925484305920790F * x, 0};
    case 5:
      return {0, -1.0925484305920790F * z, -1.0925484305920790F * y};
    case 6:
      return {0, 0, 1.8923493915151199F * z};
    case 7:
      return {-1.0925484305920790F * z, 0, -1.0925484305920790F * x};
    case 8:
      return {1.0925484305920790F * x, -1.0925484305920790F * y, 0};
    case 9:
      return {-3.5402615395598609F * x * y, 1.7701307697799305F * y * y - 1.7701307697799305F * x * x, 0};
    case 10:
      return {2.8906114426405540F * y * z, 2.8906114426405540F * x * z, 2.8906114426405540F * x * y};
    case 11:
      return {0, 0.45704579946446577F - 2.2852289973223288F * z * z, -4.5704579946446577F * y * z};
    case 12:
      return {0, 0, 5.5976449888517312F * z * z - 1.1195289977703462F};
    case 13:
      return {0.45704579946446577F - 2.2852289973223288F * z * z, 0, -4.5704579946446577F * x * z};
    case 14:
      return {2.8906114426405540F * x * z, -2.8906114426405540F * y * z,
              1.4453057213202770F * x * x - 1.4453057213202770F * y * y};
    default:
      return {1.7701307697799305F * y * y - 1.7701307697799305F * x * x, 3.5402615395598609F * x * y, 0};
  }
}

KLAB_SCALAR_FUNCTION void run(const ShBwd::Args<float>& x) {
  const auto [n, degree] = x.shape;
  KLAB_SCALAR_LOOP
  for (int64_t i = 0; i < 3 * n; ++i) x.d_directions[i] = 0;
  for (int64_t k = 0; k < degree * degree; ++k) {
    KLAB_SCALAR_LOOP
    for (int64_t i = 0; i < n; ++i) {
      const Slope s = slope(k, x.directions[i], x.directions[n + i], x.directions[2 * n + i]);
      const float g = x.d_basis[k * n + i];
      x.d_directions[i] += g * s.x;
      x.d_directions[n + i] += g * s.y;
      x.d_directions[2 * n + i] += g * s.z;
    }
  }
}

KLAB_VARIANT(ShBwd, {.run = run});

}  // namespace
}  // namespace klab
