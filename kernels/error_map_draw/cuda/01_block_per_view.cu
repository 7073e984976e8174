// error_map_draw.cuda.01_block_per_view: sums by one thread, places by all.
//
// CHANGE    a block of threads has a view. One thread adds up losses, and the ends of the map's blocks, since the order of these
//           sums decides pixels. All threads price blocks before and search for their places after it.
// EXPECT    the one thread binds: three additions in double a block of pixels, each waiting for the one before.
// NUMERICS  double, in the order of the contract. Products are stored before they are added: no fused multiply-adds.
// NEEDS     8 bytes a block of pixels.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/error_map_draw/error_map_draw.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// What a view's blocks share.
struct Known {
  float mean;
  double all, even;  // even: the part of a probability that does not follow the map
};

__device__ __forceinline__ double loss_of(float e, float mean) { return double(e < 0 ? mean : e); }

__device__ __forceinline__ double pixels_in(int64_t n, int64_t b) {
  const int64_t left = n - b * ErrorMapDraw::kBlock;
  return double(left < ErrorMapDraw::kBlock ? left : ErrorMapDraw::kBlock);
}

__device__ Known known_of(const float* __restrict__ e, int64_t n, int64_t blocks, double share) {
  double known = 0, sum = 0, all = 0;
  for (int64_t b = 0; b < blocks; ++b)
    if (!(e[b] < 0)) known += 1, sum += double(e[b]);
  const float mean = float(known > 0 ? sum / known : 1);
  for (int64_t b = 0; b < blocks; ++b) all += loss_of(e[b], mean) * pixels_in(n, b);  // an exact product
  return {mean, all, (all > 0 ? 1 - share : 1) / double(n)};
}

__device__ __forceinline__ double probability(const Known& k, float e, double share) {
  return k.all > 0 ? k.even + share * loss_of(e, k.mean) / k.all : k.even;
}

__global__ void __launch_bounds__(kThreads)
    draw_lists(ErrorMapDraw::Args<float> x, double* __restrict__ all_ends) {
  __shared__ Known known;
  const int64_t v = blockIdx.x, *place = x.places + ErrorMapDraw::kPlace * v, n = place[0], blocks = place[3],
                list = x.shape.list;
  const float* e = x.losses + place[2];
  double* ends = all_ends + place[2];
  const double share = double(*x.share);
  if (threadIdx.x == 0) known = known_of(e, n, blocks, share);
  __syncthreads();
  for (int64_t b = threadIdx.x; b < blocks; b += kThreads)
    ends[b] = probability(known, e[b], share) * pixels_in(n, b);
  __syncthreads();
  if (threadIdx.x == 0)
    for (int64_t b = 1; b < blocks; ++b) ends[b] += ends[b - 1];
  __syncthreads();
  const uint64_t key = ErrorMapDraw::key_of(x.key), counter = uint64_t(v) * uint64_t(list + 1);
  const double begin = double(ErrorMapDraw::random_number(key, counter));
  for (int64_t k = threadIdx.x; k < list; k += kThreads) {
    const double at = (begin + double(k)) / double(list);
    int64_t b = 0, last = blocks - 1;
    while (b < last) {
      const int64_t middle = (b + last) / 2;
      if (at >= ends[middle])
        b = middle + 1;
      else
        last = middle;
    }
    const double some = double(ErrorMapDraw::random_number(key, counter + 1 + uint64_t(k)));
    const int64_t i = b * ErrorMapDraw::kBlock + int64_t(some * pixels_in(n, b)), out = v * list + k;
    x.pixels[out] = place[1] >= 0 ? x.seen[place[1] + i] : int32_t(i);
    x.blocks[out] = int32_t(place[2] + b);
    x.weights[out] = float(1 / (double(n) * probability(known, e[b], share)));
  }
}

void run(const ErrorMapDraw::Args<float>& x) {
  const cuda::Scratch ends(size_t(x.shape.blocks) * sizeof(double));
  cuda::launch(draw_lists, dim3(unsigned(x.shape.views)), dim3(kThreads), 0, x, ends.as<double>());
}

KLAB_VARIANT(ErrorMapDraw, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
