// conv2d_bwd.cuda.02_implicit_products: both gradients are products of tiles that no one writes as matrices.
//
// CHANGE    d_x is a product of weights and d_y, d_w one of d_y and x, by tensor cores, from copies rounded to bfloat16 with
//           channels last. Neither is transposed: d_x takes the forward's copy of w, and ldmatrix hands out a tile's 8 x 8
//           matrices straight or transposed. Both and d_b are one launch; a sum is cut in parts where its tiles are few.
// EXPECT    3x3, 256 to 256, 28x28: d_x has 52 tiles of 36 steps, in 6 parts; d_w has 144 tiles of 13 steps over the pixels,
//           in 2: 600 blocks. 61 MB of tiles and 20 MB of parts by way of L2 are 18 us, 1.85e9 operations at half of the tensor cores'
//           rate 4 us, the copies 5 us: some 40 us with the launches, at least 15 times the parent.
// NUMERICS  bfloat16 factors, float sums, each in the order of its parts; d_b from d_y itself.
// NEEDS     compute capability 8.0; 48 KB of shared memory; 2 bytes of device memory for each element of x, w and d_y; sizes
//           that 32 bits count. With a stride d_x multiplies zeros where no output reads a pixel.
// SASS      HMMA.BF16 LDSM LDGSTS.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/conv/implicit.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/layers_cuda.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

namespace klab {
namespace {
using namespace implicit;

/// d_b of one output channel: a block adds up its pixels.
__device__ __forceinline__ void add_channel(const Sizes& z, const float* __restrict__ d_y,
                                            float* __restrict__ d_b, float* warps, int channel) {
  const int plane = z.oh * z.ow, all = z.groups * z.k, thread = int(threadIdx.x);
  float sum = 0;
#pragma unroll 8
  for (int t = thread; t < z.outputs(); t += kThreads)
    sum += d_y[z.nhwc != 0 ? t * all + channel : (t / plane * all + channel) * plane + t % plane];
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffU, sum, distance);
  if (thread % 32 == 0) warps[thread / 32] = sum;
  __syncthreads();
  if (thread == 0) d_b[channel] = warps[0] + warps[1] + warps[2] + warps[3];
}

struct Parts {
  float *of_x, *of_w;
  unsigned *arrivals_x, *arrivals_w;
};

__global__ void __launch_bounds__(kThreads, 4)
    gradients(Sizes z, Copies copies, Split of_x, Split of_w, Parts parts, const float* __restrict__ d_y,
              float* __restrict__ d_x, float* __restrict__ d_w, float* __restrict__ d_b) {
  KLAB_DYNAMIC_SHARED(Tiles, tiles);
  const int block = int(blockIdx.x), first_w = of_x.tiles * of_x.parts,
            first_b = first_w + of_w.tiles * of_w.parts;
  if (block < first_w)
    multiply<Sum::input>(z, copies, of_x, nullptr, d_x, parts.of_x, parts.arrivals_x, tiles, block);
  else if (block < first_b)
    multiply<Sum::weights>(z, copies, of_w, nullptr, d_w, parts.of_w, parts.arrivals_w, tiles,
                           block - first_w);
  else
    add_channel(z, d_y, d_b, reinterpret_cast<float*>(tiles), block - first_b);
}

void run(const Conv2dBwd::Args<float>& x) {
  if (x.shape.border != 0) return pad::backward(x, x.shape.in_channels(), run);
  const Sizes z = sizes_of(x.shape);
  const Split input = split_of(z, Sum::input), weights = split_of(z, Sum::weights);
  const int blocks = input.blocks() + weights.blocks() + z.groups * z.k;
  if (blocks == 0) return;
  cuda::Scratch of_w(size_t(z.groups) * z.taps() * z.k * z.c_row * sizeof(__nv_bfloat16));
  cuda::Scratch of_x(size_t(z.groups) * z.inputs() * z.c_row * sizeof(__nv_bfloat16));
  cuda::Scratch of_d_y(size_t(z.groups) * z.outputs() * z.k_row * sizeof(__nv_bfloat16));
  cuda::Scratch input_parts(input.part_bytes()), weight_parts(weights.part_bytes());
  cuda::Scratch of_arrivals(size_t(input.tiles + weights.tiles) * sizeof(unsigned));
  auto* w = of_w.as<__nv_bfloat16>();
  auto* pixels = of_x.as<__nv_bfloat16>();
  auto* d_y = of_d_y.as<__nv_bfloat16>();
  auto* arrivals = of_arrivals.as<unsigned>();
  round_all({.w = turn_w(z, x.w, w),
             .x = turn_x(z, x.x, pixels),
             .d_y = turn_d_y(z, x.d_y, d_y),
             .arrivals = arrivals,
             .counters = input.tiles + weights.tiles});
  constexpr size_t bytes = kStages * sizeof(Tiles);
  cuda::allow_shared(gradients, bytes);
  const Parts parts{input_parts.as<float>(), weight_parts.as<float>(), arrivals, arrivals + input.tiles};
  cuda::launch(gradients, dim3(unsigned(blocks)), dim3(kThreads), bytes, z, Copies{w, pixels, d_y}, input,
               weights, parts, x.d_y, x.d_x, x.d_w, x.d_b);
}

std::string supported(const Conv2dShape& s, const Host& host) {
  const std::string why = cuda::needs(host, 80);
  return why.empty() ? fits_32_bits(s) : why;
}

KLAB_VARIANT(Conv2dBwd,
             {.run = run,
              .parent = "01_naive",
              .forward = "04_implicit_product",
              .numerics = {.unit = Unit::bf16},
              .tiles = {kEach, kTile},
              .needs = {"border"},
              .expect = {.shape = {1, 1, 256, 256, 28, 28, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 15},
              .supported = supported});

}  // namespace
}  // namespace klab
