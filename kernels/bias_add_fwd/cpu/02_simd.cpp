// bias_add_fwd.cpu.02_simd: a channel's numbers are neighbors.
//
// CHANGE    runs of a channel in vectors with one bias, and behind a matrix product rows in vectors with as many; no number
//           asks for its channel.
// EXPECT    the two divisions for each number are gone: ten times at least, as fast as one core copies.
// NUMERICS  as the parent, bit for bit.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Examples [i, end) where hw is 1, else channels [i, end) of all examples.
void add(const BiasAddFwd::Args<float>& x, int64_t i, int64_t end) {
  const Tag d;
  const int64_t c = x.shape.c, hw = x.shape.hw;
  const float* bias = x.bias;
  for (; i < end && hw == 1; ++i) {
    const float* row = x.x + i * c;
    write_run(d, x.y + i * c, c, false,
              [row, bias](const auto& load) HWY_ATTR { return hn::Add(load(row), load(bias)); });
  }
  for (; i < end; ++i) {
    const float* run = x.x + i * hw;
    const V b = hn::Set(d, bias[i % c]);
    write_run(d, x.y + i * hw, hw, false,
              [run, b](const auto& load) HWY_ATTR { return hn::Add(load(run), b); });
  }
}

KLAB_SIMD_END(add);

#if HWY_ONCE
namespace klab {
namespace {

void run(const BiasAddFwd::Args<float>& x) {
  HWY_DYNAMIC_DISPATCH(add)(x, 0, x.shape.hw == 1 ? x.shape.n : x.shape.n * x.shape.c);
}

KLAB_VARIANT(BiasAddFwd, {.run = run,
                          .parent = "01_naive",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 5}});

}  // namespace
}  // namespace klab
#endif
