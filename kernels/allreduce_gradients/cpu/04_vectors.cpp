// allreduce_gradients.cpu.04_vectors: sums that never leave the registers.
//
// CHANGE   four vectors of sums go through all ranks, and from there to the parameters and into every replica.
// EXPECT   the tile of sums is gone, and vectors are as wide as the processor has them.
// NUMERICS float, in the order of the ranks; a fused multiply-add at the end.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

KLAB_SIMD_BEGIN();

using Op = AllreduceGradients;

// The owner's parameters of a few vectors: sums over all ranks stay in registers, and the result goes to
// every replica.
template <int kVectors, class D>
void move_vectors(D d, const Op::Args<float>& x, int64_t rank, int64_t i) {
  const int64_t n = x.shape.n, lanes = int64_t(hn::Lanes(d));
  const auto factor = hn::Set(d, *x.rate / float(x.shape.ranks));
  hn::Vec<D> sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (int64_t q = 0; q < x.shape.ranks; ++q)
    for (int v = 0; v < kVectors; ++v)
      sums[v] = hn::Add(sums[v], hn::LoadU(d, x.gradient + q * n + i + v * lanes));
  for (int v = 0; v < kVectors; ++v)
    sums[v] = hn::NegMulAdd(factor, sums[v], hn::LoadU(d, x.param + rank * n + i + v * lanes));
  for (int64_t q = 0; q < x.shape.ranks; ++q)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, x.param + q * n + i + v * lanes);
}

void move(const Op::Args<float>& x, int64_t rank, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = begin;
  for (; i + 4 * lanes <= end; i += 4 * lanes) move_vectors<4>(d, x, rank, i);
  for (; i + lanes <= end; i += lanes) move_vectors<1>(d, x, rank, i);
  const hn::CappedTag<float, 1> one;
  for (; i < end; ++i) move_vectors<1>(one, x, rank, i);
}

KLAB_SIMD_END(move);

#if HWY_ONCE
namespace klab {
namespace {

using Op = AllreduceGradients;

void run(const Op::Args<float>& x) {
  const Op::Shape& s = x.shape;
  for (int64_t rank = 0; rank < s.ranks; ++rank) {
    const int64_t begin = Op::first(s, rank), end = Op::first(s, rank + 1), own = end - begin;
    HWY_DYNAMIC_DISPATCH(move)(x, rank, begin, end);
    if (x.sent != nullptr) x.sent[rank] += 4 * (s.n - own + (s.ranks - 1) * own);
  }
}

KLAB_VARIANT(AllreduceGradients, {.run = run, .parent = "03_sharded", .tiles = {64}});

}  // namespace
}  // namespace klab
#endif
