// allreduce_gradients.cpu.06_threads: runs of blocks to threads.
//
// CHANGE   blocks are shared out among the cores, part by part without waiting; the bytes that a rank sends
//          are summed per thread.
// EXPECT   the bandwidth of the memory, where one core does not reach it.
// NUMERICS as the parent: the same bits.
#include <algorithm>
#include <array>
#include <bit>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

KLAB_SIMD_BEGIN();

using Op = AllreduceGradients;

constexpr int64_t kRun = 64;  // blocks whose bits are tested together

#include "kernels/allreduce_gradients/cpu/04_vectors-inl.h"

#include "kernels/allreduce_gradients/cpu/05_touched-inl.h"

KLAB_SIMD_ONCE(exchange);

#if HWY_ONCE
using Op = AllreduceGradients;

constexpr int64_t kShare = 64;  // blocks that a thread takes at a time

// Counts the bytes of the bits: each rank sends its own to the owner of a part, and the owner sends all ranks
// the union.
void send_bits(const Op::Shape& s, int64_t* sent) {
  for (int64_t rank = 0; rank < s.ranks; ++rank) {
    const int64_t mask = (Op::first_block(s, rank + 1) - Op::first_block(s, rank) + 7) / 8;
    for (int64_t q = 0; q < s.ranks; ++q) sent[q] += q == rank ? (s.ranks - 1) * mask : mask;
  }
}

void run(const Op::Args<float>& x) {
  const Op::Shape& s = x.shape;
  std::array<int64_t, 64> sent{};
  int64_t* const all = sent.data();
#pragma omp parallel reduction(+ : all[:64]) if (s.n * s.ranks > (1 << 16))
  for (int64_t rank = 0; rank < s.ranks; ++rank) {
    const int64_t from = Op::first_block(s, rank), to = Op::first_block(s, rank + 1);
#pragma omp for schedule(static) nowait
    for (int64_t b = from; b < to; b += kShare)
      HWY_DYNAMIC_DISPATCH(exchange)(x, rank, b, std::min(to, b + kShare), all);
  }
  send_bits(s, sent.data());
  for (int64_t r = 0; r < s.ranks && x.sent != nullptr; ++r) x.sent[r] += sent[size_t(r)];
}

KLAB_VARIANT(AllreduceGradients, {.run = run, .parent = "05_touched", .tiles = {64}});
KLAB_SIMD_CLOSE();
#endif
