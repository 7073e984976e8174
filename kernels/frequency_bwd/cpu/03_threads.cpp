// frequency_bwd.cpu.03_threads: positions shared out among the cores.
//
// CHANGE    each thread takes a run of positions.
// EXPECT    the bandwidth of the memory, most of it reads.
// NUMERICS  as the parent, bit for bit.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/frequency_bwd/frequency_bwd.h"

#include "kernels/common/lanes-inl.h"
#include "kernels/common/sincos-inl.h"

KLAB_SIMD_BEGIN();

void gradient(const FrequencyBwd::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [n, dim, octaves] = x.shape;
  for (int64_t c = 0; c < dim; ++c)
    for (int64_t i = begin; i < end; i += lanes) {
      const size_t count = size_t(std::min(lanes, end - i));
      auto scaled = load_first(d, x.positions + c * n + i, count);
      auto scale = hn::Set(d, 3.14159265F), sum = hn::Zero(d);
      const float* in = x.d_features + c * octaves * 2 * n + i;
      for (int64_t k = 0; k < octaves; ++k, in += 2 * n) {
        auto sin = scaled, cos = scaled;
        sincos_pi(d, scaled, sin, cos);
        const auto d_cos = hn::Mul(load_first(d, in + n, count), sin);
        sum = hn::MulAdd(scale, hn::MulSub(load_first(d, in, count), cos, d_cos), sum);
        scaled = hn::Add(scaled, scaled);
        scale = hn::Add(scale, scale);
      }
      store_first(sum, d, x.d_positions + c * n + i, count);
    }
}

KLAB_SIMD_END(gradient);

#if HWY_ONCE
namespace klab {
namespace {

void run(const FrequencyBwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(gradient);
  const int64_t n = x.shape.n;
  constexpr int64_t kWorthThreads = 1 << 14;  // below, waking a thread takes longer than the work
  // Cut at multiples of a cache line of floats.
  parallel_ranges(n, n >= kWorthThreads, 16, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(FrequencyBwd, {.run = run,
                            .parent = "02_simd",
                            .forward = "03_threads",
                            .tiles = {16},
                            .expect = {.shape = {1 << 18, 3, 10}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
#endif
