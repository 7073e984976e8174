// matvec_int4.cpu.02_simd: one mask and one shift for 32 weights.
//
// CHANGE    a block's sixteen bytes are widened to integers; their low halves are sixteen neighbors, their high halves the
//           next sixteen. The scale is multiplied into vectors of sums, which are joined once a row.
// EXPECT    some twelve instructions for 32 weights in place of a hundred: six times the parent and more.
// NUMERICS  float; up to 32 partial sums.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/float16.h"
#include "reference/matvec_int4/matvec_int4.h"

KLAB_SIMD_BEGIN();

/// Rows [i, end).
void multiply(const MatvecInt4::Args<float>& x, int64_t i, int64_t end) {
  constexpr int64_t kHalf = MatvecInt4::kBlock / 2;
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const int64_t lanes = int64_t(hn::Lanes(d)), blocks = x.shape.blocks;
  const auto low_half = hn::Set(integers, 15), eight = hn::Set(integers, 8);
  for (; i < end; ++i) {
    auto low = hn::Zero(d), high = low;
    for (int64_t g = 0; g < blocks; ++g) {
      const uint8_t* q = x.q + (i * blocks + g) * kHalf;
      const float* in = x.x + g * MatvecInt4::kBlock;
      const auto scale = hn::Set(d, float_from_half(x.scale[i * blocks + g]));
      auto a = hn::Zero(d), b = a;
      for (int64_t e = 0; e < kHalf; e += lanes) {
        const auto both = hn::PromoteTo(integers, hn::LoadU(bytes, q + e));
        const auto first = hn::ConvertTo(d, hn::Sub(hn::And(both, low_half), eight));
        const auto second = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<4>(both), eight));
        a = hn::MulAdd(first, hn::LoadU(d, in + e), a);
        b = hn::MulAdd(second, hn::LoadU(d, in + e + kHalf), b);
      }
      low = hn::MulAdd(scale, a, low);
      high = hn::MulAdd(scale, b, high);
    }
    x.y[i] = hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  }
}

KLAB_SIMD_END(multiply);

#if HWY_ONCE
namespace klab {
namespace {

void run(const MatvecInt4::Args<float>& x) { HWY_DYNAMIC_DISPATCH(multiply)(x, 0, x.shape.n); }

KLAB_VARIANT(MatvecInt4, {.run = run,
                          .parent = "01_naive",
                          .tiles = {1},
                          .expect = {.shape = {4096, 128}, .over_parent = 4}});

}  // namespace
}  // namespace klab
#endif
