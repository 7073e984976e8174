// sh_fwd.cpu.02_factored: all functions of a direction from shared products.
//
// CHANGE    one pass over the directions; squares and pairs are computed once and used by all functions.
// EXPECT    fewer multiplications, and each direction is read once.
// NUMERICS  other roundings: 1 - 5z^2 and its like are taken before the factor.
#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const ShFwd::Args<float>& args) {
  const auto [n, degree] = args.shape;
  KLAB_SCALAR_LOOP
  for (int64_t i = 0; i < n; ++i) {
    const float x = args.directions[i], y = args.directions[n + i], z = args.directions[2 * n + i];
    float* out = args.basis + i;
    const auto put = [&out, step = n](float v) { *out = v, out += step; };
    put(0.28209479177387814F);
    if (degree < 2) continue;
    put(-0.48860251190291992F * y);
    put(0.48860251190291992F * z);
    put(-0.48860251190291992F * x);
    if (degree < 3) continue;
    const float xy = x * y, yz = y * z, xz = x * z, xx = x * x, yy = y * y, zz = z * z;
    put(1.0925484305920790F * xy);
    put(-1.0925484305920790F * yz);
    put(0.94617469575755997F * zz - 0.31539156525252001F);
    put(-1.0925484305920790F * xz);
    put(0.54627421529603948F * (xx - yy));
    if (degree < 4) continue;
    const float ring = 0.45704579946446577F - 2.2852289973223288F * zz;
    put(0.59004358992664352F * y * (yy - 3 * xx));
    put(2.8906114426405540F * xy * z);
    put(ring * y);
    put(z * (1.8658816629505769F * zz - 1.1195289977703462F));
    put(ring * x);
    put(1.4453057213202770F * z * (xx - yy));
    put(0.59004358992664352F * x * (3 * yy - xx));
  }
}

KLAB_VARIANT(ShFwd, {.run = run,
                     .parent = "01_naive",
                     .expect = {.shape = {(1 << 18) + 80, 4}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
