// conv2d_fwd.cuda.04_implicit_product: the matrix of windows exists only tile by tile, in shared memory; tensor cores multiply.
//
// CHANGE    the sum runs over taps outside and channels inside. x and w are copied once, rounded to bfloat16, with channels
//           last: 8 channels at a tap are 16 neighboring bytes of the copy, which cp.async brings to where ldmatrix reads
//           them, zeros outside the image. Three steps are in flight. Where tiles are few, blocks share a tile's sum,
//           and the last one adds up their parts.
// EXPECT    no matrix in memory, and one address for 8 elements, found by additions: a tap and a panel of channels follow
//           another. 3x3, 256 to 256, 28x28: 52 tiles in 6 parts, 312 blocks; 41 MB by way of L2 are 10 us, 0.93e9 operations at half
//           of the tensor cores' rate 2 us, the copies 4 us, and their launch 3: some 20 us, at least 6 times the parent.
// NUMERICS  bfloat16 factors, float sums: with u = 2^-8 a product errs by at most (2u + u²)|w||x|, and the float sum adds
//           c·r·s·2^-24; both are within the bound of bfloat16's class, since the contract counts two roundings at the least.
// NEEDS     compute capability 8.0; 48 KB of shared memory; 2 bytes of device memory for each element of x and w; sizes
//           that 32 bits count. Groups of few channels fill only a part of each tile of 64.
// SASS      HMMA.BF16 LDSM LDGSTS.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/conv/implicit.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/layers_cuda.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {
using namespace implicit;

__global__ void __launch_bounds__(kThreads, 4)
    outputs(Sizes z, Copies copies, Split split, const float* __restrict__ b, float* __restrict__ y,
            float* parts, unsigned* arrivals) {
  KLAB_DYNAMIC_SHARED(Tiles, tiles);
  multiply<Sum::forward>(z, copies, split, b, y, parts, arrivals, tiles, int(blockIdx.x));
}

void run(const Conv2dFwd::Args<float>& x) {
  if (x.shape.border != 0) return pad::forward(x, x.shape.in_channels(), run);
  const Sizes z = sizes_of(x.shape);
  const Split split = split_of(z, Sum::forward);
  if (split.tiles == 0) return;
  cuda::Scratch of_w(size_t(z.groups) * z.taps() * z.k * z.c_row * sizeof(__nv_bfloat16));
  cuda::Scratch of_x(size_t(z.groups) * z.inputs() * z.c_row * sizeof(__nv_bfloat16));
  cuda::Scratch of_parts(split.part_bytes()), of_arrivals(size_t(split.tiles) * sizeof(unsigned));
  auto* w = of_w.as<__nv_bfloat16>();
  auto* pixels = of_x.as<__nv_bfloat16>();
  auto* arrivals = of_arrivals.as<unsigned>();
  round_all({.w = turn_w(z, x.w, w),
             .x = turn_x(z, x.x, pixels),
             .arrivals = arrivals,
             .counters = split.parts > 1 ? split.tiles : 0});
  constexpr size_t bytes = kStages * sizeof(Tiles);
  cuda::allow_shared(outputs, bytes);
  cuda::launch(outputs, dim3(unsigned(split.blocks())), dim3(kThreads), bytes, z, Copies{w, pixels, nullptr},
               split, x.b, x.y, of_parts.as<float>(), arrivals);
}

std::string supported(const Conv2dShape& s, const Host& host) {
  const std::string why = cuda::needs(host, 80);
  return why.empty() ? fits_32_bits(s) : why;
}

KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "03_im2col",
              .numerics = {.unit = Unit::bf16},
              .tiles = {kEach, kTile},
              .needs = {"border"},
              .expect = {.shape = {1, 1, 256, 256, 28, 28, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 6},
              .supported = supported});

}  // namespace
}  // namespace klab
