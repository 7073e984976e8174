// allreduce_gradients.cpu.02_all_reduce: each part is added up once, and its sum goes to all ranks.
//
// CHANGE   a rank adds up one part of all gradients (reduce-scatter) and sends the sums to the others
//          (all-gather); then each moves all its parameters.
// EXPECT   the additions of one rank instead of all, in vectors; 2·(ranks-1)/ranks·n entries sent by a rank,
//          however many there are.
// NUMERICS float, in the order of the ranks.
#include <algorithm>
#include <vector>

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

void run(const Op::Args<float>& x) {
  const Op::Shape& s = x.shape;
  const float factor = *x.rate / float(s.ranks);
  thread_local std::vector<float> all;  // the sums, as every rank receives them
  all.resize(size_t(s.n));
  for (int64_t rank = 0; rank < s.ranks; ++rank) {
    const int64_t end = Op::first(s, rank + 1), own = end - Op::first(s, rank);
    for (int64_t i = Op::first(s, rank); i < end; i += kTile)
      add_up(x, i, std::min(kTile, end - i), all.data() + i);
    if (x.sent != nullptr) x.sent[rank] += 4 * (s.n - own + (s.ranks - 1) * own);
  }
  for (int64_t rank = 0; rank < s.ranks; ++rank) {
    float* __restrict__ param = x.param + rank * s.n;
    const float* __restrict__ sums = all.data();
#pragma omp simd
    for (int64_t i = 0; i < s.n; ++i) param[i] -= factor * sums[i];
  }
}

KLAB_VARIANT(AllreduceGradients, {.run = run, .parent = "01_everybody", .tiles = {kTile}});

}  // namespace
}  // namespace klab
