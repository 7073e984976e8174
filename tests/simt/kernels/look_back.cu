// Blocks that pass sums to each other: the look back over words that a test has set, and a last block with and without its
// fence.
#include "kernels/common/last_block.h"
#include "kernels/common/look_back.h"

#define KLAB_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace cuda = klab::cuda;

struct Plus {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a + b; }
};

__global__ void look(cuda::LookBack back, unsigned tile, unsigned own, unsigned* before) {
  const unsigned sum = back.sum_before(tile, own, Plus{});
  before[threadIdx.x] = sum;
}

__global__ void look_counts(cuda::LookBackCounts back, int tile, unsigned own, unsigned* before) {
  back.publish_own(tile, int(threadIdx.x), own);
  before[threadIdx.x] = back.sum_before<4>(tile, int(threadIdx.x), own);
}

/// Numbers tiles by ticket, or by block.
__global__ void add_tiles(cuda::LookBack back, bool by_ticket, unsigned* before) {
  const unsigned ticket = back.take_tile(), tile = by_ticket ? ticket : blockIdx.x;
  const unsigned sum = back.sum_before(tile, tile + 1, Plus{});
  if (threadIdx.x == 0) before[tile] = sum;
}

__device__ bool is_last_without_fence(unsigned* arrivals, unsigned blocks) {
  __shared__ unsigned earlier;
  __syncthreads();
  if (threadIdx.x == 0) earlier = atomicAdd(arrivals, 1U);
  __syncthreads();
  return earlier == blocks - 1;
}

__global__ void add_parts(unsigned* arrivals, unsigned* parts, bool fenced) {
  parts[1 + blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x + threadIdx.x;
  const bool last =
      fenced ? cuda::is_last_block(arrivals, gridDim.x) : is_last_without_fence(arrivals, gridDim.x);
  if (!last || threadIdx.x != 0) return;
  unsigned sum = 0;
  for (unsigned k = 0; k < gridDim.x * blockDim.x; ++k) sum += parts[1 + k];
  parts[0] = sum;
}

}  // namespace

/// Returns what `tile` finds before it. `words` are the states and sums of earlier tiles; that of `tile` is returned there.
KLAB_EXPORT unsigned look_back_from(unsigned tile, unsigned own, unsigned long long* words) {
  const size_t bytes = cuda::LookBack::bytes(tile + 1);
  const cuda::Scratch memory(bytes), before(32 * sizeof(unsigned));
  const cuda::LookBack back{memory.as<unsigned long long>()};
  cuda::fill_zero(back.memory, bytes);
  cuda::upload(back.memory + 2, words, tile * sizeof(unsigned long long));
  cuda::launch(look, 1, 32, 0, back, tile, own, before.as<unsigned>());
  unsigned lanes[32];
  cuda::download(lanes, before.as<unsigned>(), sizeof lanes);
  cuda::download(words + tile, back.memory + 2 + tile, sizeof(unsigned long long));
  for (const unsigned sum : lanes)
    if (sum != lanes[0]) return ~0U;
  return lanes[0];
}

/// As look_back_from, for 32 counts side by side: words[tile,32], before[32].
KLAB_EXPORT void look_back_counts(int tile, unsigned own, unsigned* words, unsigned* before) {
  constexpr int kColumns = 32;
  const size_t row = kColumns * sizeof(unsigned), rows = size_t(tile) * row;
  const cuda::Scratch memory(rows + row), sums(row);
  const cuda::LookBackCounts back{memory.as<unsigned>(), kColumns};
  cuda::fill_zero(back.words, rows + row);
  cuda::upload(back.words, words, rows);
  cuda::launch(look_counts, 1, kColumns, 0, back, tile, own, sums.as<unsigned>());
  cuda::download(before, sums.as<unsigned>(), row);
  cuda::download(words, back.words, rows + row);
}

/// Gives tile k the sum k + 1, and writes what it finds before it.
KLAB_EXPORT void look_back_over(unsigned tiles, bool by_ticket, unsigned* before) {
  const size_t bytes = cuda::LookBack::bytes(tiles);
  const cuda::Scratch memory(bytes), sums(tiles * sizeof(unsigned));
  const cuda::LookBack back{memory.as<unsigned long long>()};
  cuda::fill_zero(back.memory, bytes);
  cuda::launch(add_tiles, tiles, 32, 0, back, by_ticket, sums.as<unsigned>());
  cuda::download(before, sums.as<unsigned>(), tiles * sizeof(unsigned));
}

KLAB_EXPORT unsigned add_up_to(unsigned capacity, unsigned a, unsigned b) {
  return cuda::AddUpTo{capacity}(a, b);
}

/// Returns the sum of block and thread over all threads of 7 blocks of 64, as the last block finds it.
KLAB_EXPORT unsigned sum_by_last_block(bool fenced) {
  constexpr unsigned kBlocks = 7, kThreads = 64;
  const cuda::Scratch arrivals(sizeof(unsigned)), parts((1 + kBlocks * kThreads) * sizeof(unsigned));
  cuda::fill_zero(arrivals.as<unsigned>(), sizeof(unsigned));
  cuda::launch(add_parts, kBlocks, kThreads, 0, arrivals.as<unsigned>(), parts.as<unsigned>(), fenced);
  unsigned sum = 0;
  cuda::download(&sum, parts.as<unsigned>(), sizeof sum);
  return sum;
}
