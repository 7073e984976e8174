// frequency_fwd.cpu.02_simd: one reduction for a sine and its cosine, lanes at a time.
//
// CHANGE    vectors; argument and quarter turn are found once for both, and two polynomials do the rest.
// EXPECT    many times the parent; then the outputs' traffic, twenty times the inputs' at ten octaves.
// NUMERICS  kernels/common/sincos-inl.h, 2u. Doubling the argument is exact, so octaves do not add errors.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/frequency_fwd/frequency_fwd.h"

#include "kernels/common/lanes-inl.h"
#include "kernels/common/sincos-inl.h"

KLAB_SIMD_BEGIN();

void encode(const FrequencyFwd::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [n, dim, octaves] = x.shape;
  for (int64_t c = 0; c < dim; ++c)
    for (int64_t i = begin; i < end; i += lanes) {
      const size_t count = size_t(std::min(lanes, end - i));
      auto scaled = load_first(d, x.positions + c * n + i, count);
      float* out = x.features + c * octaves * 2 * n + i;
      for (int64_t k = 0; k < octaves; ++k, out += 2 * n, scaled = hn::Add(scaled, scaled)) {
        auto sin = scaled, cos = scaled;
        sincos_pi(d, scaled, sin, cos);
        store_first(sin, d, out, count);
        store_first(cos, d, out + n, count);
      }
    }
}

KLAB_SIMD_END(encode);

#if HWY_ONCE
namespace klab {
namespace {

void run(const FrequencyFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode)(x, 0, x.shape.n); }

KLAB_VARIANT(FrequencyFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {16},
                            .expect = {.shape = {1 << 11, 3, 10}, .over_parent = 4}});

}  // namespace
}  // namespace klab
#endif
