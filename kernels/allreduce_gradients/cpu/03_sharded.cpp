// allreduce_gradients.cpu.03_sharded: the rank that has the sum moves the parameters.
//
// CHANGE   the rank that has added up a part moves that part of the parameters at once, and sends these in
//          place of the sums.
// EXPECT   as many bytes sent, but the optimizer's work, and its state, is one rank's and not all ranks'; no
//          array of sums. An entry and rank now writes 4 bytes and reads 4, where it read and wrote 16
//          before.
// NUMERICS float, in the order of the ranks: the same bits.
#include <algorithm>
#include <array>

#include "harness/core/registrar.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

namespace klab {
namespace {

using Op = AllreduceGradients;

constexpr int64_t kTile = 1024;  // entries whose sums stay in the first cache

// Adds up the gradients of all ranks into `sums`.
void add_up(const Op::Args<float>& x, int64_t begin, int64_t count, float* __restrict__ sums) {
  std::fill_n(sums, count, 0.0F);
  for (int64_t q = 0; q < x.shape.ranks; ++q) {
    const float* __restrict__ g = x.gradient + q * x.shape.n + begin;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) sums[i] += g[i];
  }
}

// Moves the owner's replica and copies the result to the others.
void move(const Op::Args<float>& x, int64_t rank, int64_t begin, int64_t count, const float* sums) {
  const float factor = *x.rate / float(x.shape.ranks);
  float* __restrict__ param = x.param + rank * x.shape.n + begin;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) param[i] -= factor * sums[i];
  for (int64_t q = 0; q < x.shape.ranks; ++q)
    if (q != rank) std::copy_n(param, count, x.param + q * x.shape.n + begin);
}

void run(const Op::Args<float>& x) {
  const Op::Shape& s = x.shape;
  std::array<float, kTile> sums;
  for (int64_t rank = 0; rank < s.ranks; ++rank) {
    const int64_t end = Op::first(s, rank + 1), own = end - Op::first(s, rank);
    for (int64_t i = Op::first(s, rank); i < end; i += kTile) {
      const int64_t count = std::min(kTile, end - i);
      add_up(x, i, count, sums.data());
      move(x, rank, i, count, sums.data());
    }
    if (x.sent != nullptr) x.sent[rank] += 4 * (s.n - own + (s.ranks - 1) * own);
  }
}

KLAB_VARIANT(AllreduceGradients, {.run = run, .parent = "02_all_reduce", .tiles = {kTile}});

}  // namespace
}  // namespace klab
