// softmax_xent_fwd.cuda.01_atomic_sum: a thread for each logit, and one word for each row where all meet.
//
// CHANGE    the naive kernels: an atomic maximum, an atomic sum, then a logarithm a row. Floats are made into
//           integers of the same order for the maximum.
// EXPECT    the lanes of a warp aim at one address, two where a row ends, and the additions of a row wait for
//           each other: c of them, twice. 4 sectors/request, and memory waits for the atomics.
// NUMERICS  float atomics: a sum in the order in which lanes arrive. Fast exponentials, whose error grows
//           with the argument as the bound does.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kSign = 1U << 31;

/// Integers in the order of the floats: all bits turned where the float is negative, else the sign alone. 0
/// lies below every finite float.
__device__ __forceinline__ unsigned to_key(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits & kSign ? ~bits : bits | kSign;
}
__device__ __forceinline__ float from_key(unsigned key) {
  return __uint_as_float(key & kSign ? key & ~kSign : ~key);
}

__global__ void __launch_bounds__(kThreads)
    find_largest(int64_t n, int64_t c, const float* __restrict__ logits, unsigned* __restrict__ keys) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n * c) atomicMax(&keys[i / c], to_key(logits[i]));
}

__global__ void __launch_bounds__(kThreads)
    add_up(int64_t n, int64_t c, const float* __restrict__ logits, const unsigned* __restrict__ keys,
           float* __restrict__ sums) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n * c) atomicAdd(&sums[i / c], __expf(logits[i] - from_key(keys[i / c])));
}

__global__ void __launch_bounds__(kThreads)
    loss_of(int64_t n, int64_t c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
            const unsigned* __restrict__ keys, const float* __restrict__ sums, float* __restrict__ loss) {
  const int64_t row = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (row < n) loss[row] = logf(sums[row]) + (from_key(keys[row]) - logits[row * c + labels[row]]);
}

unsigned blocks_for(int64_t threads) { return unsigned((threads + kThreads - 1) / kThreads); }

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  const size_t bytes = sizeof(float) * size_t(n);
  const cuda::Scratch keys(bytes), sums(bytes);
  cuda::fill_zero(keys.as<unsigned>(), bytes);
  cuda::fill_zero(sums.as<float>(), bytes);
  cuda::launch(find_largest, blocks_for(n * c), kThreads, 0, n, c, x.logits, keys.as<unsigned>());
  cuda::launch(add_up, blocks_for(n * c), kThreads, 0, n, c, x.logits, keys.as<unsigned>(), sums.as<float>());
  cuda::launch(loss_of, blocks_for(n), kThreads, 0, n, c, x.logits, x.labels, keys.as<unsigned>(),
               sums.as<float>(), x.loss);
}

KLAB_VARIANT(SoftmaxXentFwd, {.run = run, .numerics = {.deterministic = false}, .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
