// groupnorm_bwd.cuda.03_one_pass: the sums of a group are those of its channels.
//
// CHANGE    a block has a group of an example. One to eight of its warps have a channel, and sum up d_y and d_y·xhat over its
//           positions: partial sums of d_beta and d_gamma. Weighted by gamma they are also the group's two sums. A join
//           of the partial sums replaces the kernel that read all inputs again, with a block a channel. 16 bytes a lane, eight loads in
//           flight, and no division for a position.
// EXPECT    x and d_y are read twice where they were three times, the second time from near, by 1,024 blocks where the second kernel
//           had 64 on 132 multiprocessors, a division of 32 bits for each number: at least 5 times.
// NUMERICS  strided partial sums of a channel, then tree order.
// NEEDS     for loads of 16 bytes positions of a multiple of four and arrays that begin at multiples of 16 bytes.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/columns.h"
#include "kernels/common/rows/device.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
using Args = GroupnormBwd::Args<float>;

/// Block i has group i % groups of example i / groups; warp w has channels w / ways, w / ways + kWarps / ways ... and of their
/// packs of positions every ways-th 32, from w % ways on. Partial sums: [n·ways][groups·each].
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    gradients(int64_t groups, int64_t each, int hw, int ways, const float* __restrict__ x,
              const float* __restrict__ gamma, const float* __restrict__ mean_of,
              const float* __restrict__ rstd_of, const float* __restrict__ d_y, float* __restrict__ d_x,
              float* __restrict__ d_gamma, float* __restrict__ d_beta) {
  __shared__ rows::Sums of_warp[32];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, way = warp % ways, packs = hw / kEach;
  const int64_t i = blockIdx.x, group = i % groups, part = i / groups * ways + way;
  const float mean = mean_of[i], rstd = rstd_of[i];
  rows::Sums all = rows::Sums::none();
  for (int64_t e = warp / ways; e < each; e += kWarps / ways) {
    const int64_t from = (i * each + e) * hw, channel = group * each + e;
    rows::Sums sum = rows::Sums::none();  // of d_y, of d_y·xhat
    for (int k = way * 32 + lane; k < packs; k += rows::kBatch * 32 * ways) {
      const rows::Batch<kEach> h(x + from, k, 32 * ways, packs), d(d_y + from, k, 32 * ways, packs);
#pragma unroll
      for (int b = 0; b < rows::kBatch; ++b)
        for (int p = 0; p < kEach; ++p)
          sum = sum.with({d.v[b].v[p], d.v[b].v[p] * ((h.v[b].v[p] - mean) * rstd)});
    }
    sum = rows::join_lanes(sum);
    if (lane > 0) continue;
    d_beta[part * groups * each + channel] = sum.a;
    d_gamma[part * groups * each + channel] = sum.b;
    all = all.with({gamma[channel] * sum.a, gamma[channel] * sum.b});
  }
  all = rows::join_block(all, of_warp);
  const float of_g = all.a / float(each * hw), of_both = all.b / float(each * hw);
  for (int64_t e = warp / ways; e < each; e += kWarps / ways) {
    const int64_t from = (i * each + e) * hw;
    const float scale = gamma[group * each + e];
    for (int k = way * 32 + lane; k < packs; k += rows::kBatch * 32 * ways) {
      const rows::Batch<kEach> h(x + from, k, 32 * ways, packs);
      rows::Batch<kEach> d(d_y + from, k, 32 * ways, packs);
#pragma unroll
      for (int b = 0; b < rows::kBatch; ++b) {
        for (int p = 0; p < kEach; ++p)
          d.v[b].v[p] = rstd * (d.v[b].v[p] * scale - of_g - (h.v[b].v[p] - mean) * rstd * of_both);
        if (b < d.each) rows::store_whole<kEach>(d_x + from + (k + b * 32 * ways) * kEach, d.v[b]);
      }
    }
  }
}

void run(const Args& x) {
  const auto [n, groups, each, hw] = x.shape;
  const int64_t c = groups * each;
  if (c == 0) return;
  const int ways = each >= 8 ? 1 : each >= 4 ? 2 : each >= 2 ? 4 : 8;
  const cuda::Scratch partial(sizeof(float) * size_t(2 * n * ways * c));
  float *const d_gamma = partial.as<float>(), *const d_beta = d_gamma + n * ways * c;
  const bool fours = hw % 4 == 0 && rows::aligned(x.x, x.d_y, x.d_x);
  if (n > 0)
    cuda::launch(fours ? gradients<4> : gradients<1>, unsigned(n * groups), kThreads, 0, groups, each,
                 int(hw), ways, x.x, x.gamma, x.mean, x.rstd, x.d_y, x.d_x, d_gamma, d_beta);
  rows::launch_join(n * ways, c, d_gamma, x.d_gamma, x.d_beta);
}

KLAB_VARIANT(GroupnormBwd, {.run = run,
                            .parent = "02_block_per_group",
                            .forward = "02_block_per_group",
                            .tiles = {4, kWarps, 32},
                            .expect = {.shape = {32, 32, 2, 56 * 56}, .over_parent = 5}});

}  // namespace
}  // namespace klab
