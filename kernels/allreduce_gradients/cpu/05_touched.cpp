// allreduce_gradients.cpu.05_touched: only blocks that some rank has touched.
//
// CHANGE   a bit for every block of every rank tells whether it holds a gradient. Only such blocks travel,
//          and only parameters that some rank has touched are moved.
// EXPECT   gradients are read once, as before; of a table of which a step touches a tenth most parameters are
//          neither read nor written, and most of the bytes are not sent.
// NUMERICS as the parent: the same bits.
// TRIED    a branch for every rank of a block: NOTES.md.
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
  send_bits(s, sent.data());
  for (int64_t rank = 0; rank < s.ranks; ++rank) HWY_DYNAMIC_DISPATCH(exchange)
  (x, rank, Op::first_block(s, rank), Op::first_block(s, rank + 1), sent.data());
  for (int64_t r = 0; r < s.ranks && x.sent != nullptr; ++r) x.sent[r] += sent[size_t(r)];
}

KLAB_VARIANT(AllreduceGradients, {.run = run, .parent = "04_vectors", .tiles = {64}});
KLAB_SIMD_CLOSE();
#endif
