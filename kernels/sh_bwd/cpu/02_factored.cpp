// sh_bwd.cpu.02_factored: all derivatives of a direction from shared products.
//
// CHANGE    one pass over the directions; pairs are computed once, and functions whose derivatives share a polynomial
//           (9 with 15, 11 with 13, 10 with 14) are taken together.
// EXPECT    several times fewer memory accesses: the gradient is written once.
// NUMERICS  other roundings: sums of gradients times a shared polynomial.
#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/sh_bwd/sh_bwd.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const ShBwd::Args<float>& args) {
  const auto [n, degree] = args.shape;
  KLAB_SCALAR_LOOP
  for (int64_t i = 0; i < n; ++i) {
    const float x = args.directions[i], y = args.directions[n + i], z = args.directions[2 * n + i];
    const auto g = [d_basis = args.d_basis + i, step = n](int64_t k) { return d_basis[k * step]; };
    float dx = 0, dy = 0, dz = 0;
    if (degree >= 2) {
      dx = -0.48860251190291992F * g(3);
      dy = -0.48860251190291992F * g(1);
      dz = 0.48860251190291992F * g(2);
    }
    if (degree >= 3) {
      const float g4 = 1.0925484305920790F * g(4), g5 = -1.0925484305920790F * g(5);
      const float g7 = -1.0925484305920790F * g(7), g8 = 1.0925484305920790F * g(8);
      dx += g8 * x + g7 * z + g4 * y;
      dy += g5 * z - g8 * y + g4 * x;
      dz += 1.8923493915151199F * g(6) * z + g7 * x + g5 * y;
    }
    if (degree >= 4) {
      const float xy = x * y, yz = y * z, xz = x * z, zz = z * z;
      const float across = y * y - x * x, ring = 0.45704579946446577F - 2.2852289973223288F * zz;
      const float g9 = 1.7701307697799305F * g(9), g15 = 1.7701307697799305F * g(15);
      const float g10 = 2.8906114426405540F * g(10), g14 = 2.8906114426405540F * g(14);
      dx += g(13) * ring + g15 * across - g9 * 2 * xy + g14 * xz + g10 * yz;
      dy += g(11) * ring + g15 * 2 * xy + g9 * across - g14 * yz + g10 * xz;
      dz += g10 * xy - 0.5F * g14 * across - 4.5704579946446577F * (g(11) * yz + g(13) * xz) +
            g(12) * (5.5976449888517312F * zz - 1.1195289977703462F);
    }
    args.d_directions[i] = dx;
    args.d_directions[n + i] = dy;
    args.d_directions[2 * n + i] = dz;
  }
}

KLAB_VARIANT(ShBwd, {.run = run,
                     .parent = "01_naive",
                     .forward = "02_factored",
                     .expect = {.shape = {(1 << 18) + 80, 4}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
