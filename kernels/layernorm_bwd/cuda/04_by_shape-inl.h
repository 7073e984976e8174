// The part of layernorm_bwd.cuda.04_by_shape that 05_ahead takes over as it is.

/// Warps that a multiprocessor holds, with 168 registers a thread; single features take more, for their addresses.
template <int kEach>
constexpr int kWarps = kEach == 4 ? 12 : 8;

/// Warp w of all has rows w, w + warps ... of at most 32·kEach·kKept features. partial: [2][blocks][c].
template <int kEach, int kKept>
__global__ void __launch_bounds__(32 * kWarps<kEach>, 1)
    kept_gradients(int64_t n, int c, const float* __restrict__ x, const float* __restrict__ gamma,
                   const float* __restrict__ mean_of, const float* __restrict__ rstd_of,
                   const float* __restrict__ d_y, float* __restrict__ d_x, float* __restrict__ partial) {
  KLAB_DYNAMIC_SHARED(float, sums);  // [warps][2][32·kEach·kKept]
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, warps = int(blockDim.x) / 32;
  rows::Pack<kEach> d_gamma[kKept] = {}, d_beta[kKept] = {};
  for (int64_t i = int64_t(blockIdx.x) * warps + warp; i < n; i += int64_t(gridDim.x) * warps) {
    const float mean = mean_of[i], rstd = rstd_of[i];
    rows::Pack<kEach> xhat[kKept] = {}, g[kKept] = {};
    rows::Sums sum = rows::Sums::none();
#pragma unroll
    for (int p = 0; p < kKept; ++p) {
      const int j = (32 * p + lane) * kEach;
      if (j < c) xhat[p] = rows::load<kEach>(x + i * c + j), g[p] = rows::load<kEach>(d_y + i * c + j);
    }
#pragma unroll
    for (int p = 0; p < kKept; ++p) {
      const int j = (32 * p + lane) * kEach;
      if (j >= c) continue;
      const rows::Pack<kEach> scale = rows::load<kEach>(gamma + j);
      for (int k = 0; k < kEach; ++k) {
        float &h = xhat[p].v[k], &d = g[p].v[k];
        h = (h - mean) * rstd;
        d_gamma[p].v[k] += d * h;
        d_beta[p].v[k] += d;
        d *= scale.v[k];
        sum = sum.with({d, d * h});
      }
    }
    sum = rows::join_lanes(sum);
    const float of_g = sum.a / float(c), of_both = sum.b / float(c);
#pragma unroll
    for (int p = 0; p < kKept; ++p) {
      const int j = (32 * p + lane) * kEach;
      for (int k = 0; k < kEach; ++k) g[p].v[k] = rstd * (g[p].v[k] - of_g - xhat[p].v[k] * of_both);
      if (j < c) rows::store<kEach>(d_x + i * c + j, g[p]);
    }
  }
  constexpr int width = 32 * kEach * kKept;
#pragma unroll
  for (int p = 0; p < kKept; ++p)
    if (const int j = (32 * p + lane) * kEach; j < c) {
      *reinterpret_cast<rows::Pack<kEach>*>(sums + 2 * warp * width + j) = d_gamma[p];
      *reinterpret_cast<rows::Pack<kEach>*>(sums + (2 * warp + 1) * width + j) = d_beta[p];
    }
  __syncthreads();
  for (int k = int(threadIdx.x); k < 2 * c; k += 32 * warps) {
    const int which = k < c ? 0 : 1, j = k - which * c;
    float sum = 0;
    for (int w = 0; w < warps; ++w) sum += sums[(2 * w + which) * width + j];
    partial[(int64_t(which) * gridDim.x + blockIdx.x) * c + j] = sum;
  }
}

/// Block b has part b % parts of row b / parts, and leaves its two sums.
template <int kEach>
__global__ void __launch_bounds__(1024)
    row_sums(int parts, int c, const float* __restrict__ x, const float* __restrict__ gamma,
             const float* __restrict__ mean_of, const float* __restrict__ rstd_of,
             const float* __restrict__ d_y, rows::Sums* __restrict__ found) {
  __shared__ rows::Sums of_warp[32];
  const int block = int(blockDim.x), part = int(blockIdx.x % unsigned(parts)), packs = c / kEach;
  const int64_t i = blockIdx.x / unsigned(parts);
  const float mean = mean_of[i], rstd = rstd_of[i];
  rows::Sums sum = rows::Sums::none();
  for (int k = part * block + int(threadIdx.x); k < packs; k += 2 * parts * block) {
    const rows::Batch<kEach, 2> at(x + i * c, k, parts * block, packs);
    const rows::Batch<kEach, 2> d(d_y + i * c, k, parts * block, packs),
        scale(gamma, k, parts * block, packs);
#pragma unroll
    for (int b = 0; b < 2; ++b)
      for (int e = 0; e < kEach; ++e) {
        const float g = d.v[b].v[e] * scale.v[b].v[e];
        sum = sum.with({g, g * ((at.v[b].v[e] - mean) * rstd)});
      }
  }
  sum = rows::join_block(sum, of_warp);
  if (threadIdx.x == 0) found[blockIdx.x] = sum;
}

/// Warp i joins the sums of row i, and makes means of them.
__global__ void __launch_bounds__(32)
    join_sums(int parts, int c, const rows::Sums* __restrict__ found, rows::Sums* __restrict__ means) {
  rows::Sums all = rows::Sums::none();
  for (int k = int(threadIdx.x); k < parts; k += 32) all = all.with(found[blockIdx.x * int64_t(parts) + k]);
  all = rows::join_lanes(all);
  if (threadIdx.x == 0) means[blockIdx.x] = {all.a / float(c), all.b / float(c)};
}

/// Block (b, k) has kThreads packs of columns, the last first, of `each` rows. partial: [2][gridDim.y][c].
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    tile(int64_t n, int64_t each, int c, const float* __restrict__ x, const float* __restrict__ gamma,
         const float* __restrict__ mean_of, const float* __restrict__ rstd_of, const float* __restrict__ d_y,
         const rows::Sums* __restrict__ means, float* __restrict__ d_x, float* __restrict__ d_gamma,
         float* __restrict__ d_beta) {
  const unsigned j = ((gridDim.x - 1 - blockIdx.x) * kThreads + threadIdx.x) * kEach;
  if (j >= unsigned(c)) return;
  const int64_t begin = blockIdx.y * each, end = min(begin + each, n);
  const rows::Pack<kEach> scale = rows::load<kEach>(gamma + j);
  rows::Pack<kEach> of_gamma = {}, of_beta = {};
  for (int64_t i = begin; i < end; i += kRows) {
    rows::Pack<kEach> h[kRows] = {}, d[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (i + r < end)
        h[r] = rows::load<kEach>(x + (i + r) * c + j), d[r] = rows::load<kEach>(d_y + (i + r) * c + j);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (i + r >= end) break;
      const float mean = mean_of[i + r], rstd = rstd_of[i + r];
      const rows::Sums of = means[i + r];
      for (int k = 0; k < kEach; ++k) {
        const float g = d[r].v[k], xhat = (h[r].v[k] - mean) * rstd;
        of_gamma.v[k] += g * xhat;
        of_beta.v[k] += g;
        d[r].v[k] = rstd * (g * scale.v[k] - of.a - xhat * of.b);
      }
      rows::store<kEach>(d_x + (i + r) * c + j, d[r]);
    }
  }
  rows::store<kEach>(d_gamma + blockIdx.y * int64_t(c) + j, of_gamma);
  rows::store<kEach>(d_beta + blockIdx.y * int64_t(c) + j, of_beta);
}

/// Launches the kernel that keeps no more of c features than it must.
template <int kEach, int kKept = 1>
void run_kept(const Args& x, int multiprocessors) {
  const auto [n, c] = x.shape;
  constexpr int kept = kEach * kKept;
  if constexpr (32 * kept < rows::kWarpColumns)
    if (c > 32 * kept) return run_kept<kEach, 2 * kKept>(x, multiprocessors);
  // Blocks that fit: registers for the features and the sums of a lane, four of each.
  const int64_t fitting = int64_t(multiprocessors) * std::clamp(16 / kept, 1, 3);
  const int warps = int(
      std::clamp<int64_t>(rows::blocks_of(n, multiprocessors), 1, kWarps<kEach>));  // few rows: a block each
  const unsigned grid = unsigned(std::min<int64_t>(fitting, rows::blocks_of(n, warps)));
  const size_t shared = sizeof(float) * 2 * warps * 32 * kept;
  const cuda::Scratch partial(sizeof(float) * 2 * grid * size_t(c));
  const auto kernel = kept_gradients<kEach, kKept>;
  cuda::allow_shared(kernel, shared);
  if (n > 0)
    cuda::launch(kernel, grid, 32 * warps, shared, n, int(c), x.x, x.gamma, x.mean, x.rstd, x.d_y, x.d_x,
                 partial.as<float>());
  rows::launch_join(grid, c, partial.as<float>(), x.d_gamma, x.d_beta);
}

template <int kEach>
void run_by(const Args& x) {
  const auto [n, c] = x.shape;
  const int multiprocessors = cuda::device().multiprocessors;
  if (n == 0 || c <= rows::kWarpColumns) return run_kept<kEach>(x, multiprocessors);
  const rows::Plan plan = rows::plan(n, c, multiprocessors);
  const unsigned columns = rows::blocks_of(c, kThreads * kEach);
  const auto [chunks, each] = rows::chunks_of(n, columns, 8, multiprocessors);
  const cuda::Scratch found(sizeof(rows::Sums) * plan.grid), means(sizeof(rows::Sums) * size_t(n));
  const cuda::Scratch partial(chunks > 1 ? sizeof(float) * 2 * size_t(chunks * c) : 0);
  float* const d_gamma = chunks > 1 ? partial.as<float>() : x.d_gamma;
  float* const d_beta = chunks > 1 ? d_gamma + chunks * c : x.d_beta;
  cuda::launch(row_sums<kEach>, plan.grid, plan.threads, 0, int(plan.parts), int(c), x.x, x.gamma, x.mean,
               x.rstd, x.d_y, found.as<rows::Sums>());
  cuda::launch(join_sums, unsigned(n), 32, 0, int(plan.parts), int(c), found.as<rows::Sums>(),
               means.as<rows::Sums>());
  cuda::launch(tile<kEach>, dim3(columns, unsigned(chunks)), kThreads, 0, n, each, int(c), x.x, x.gamma,
               x.mean, x.rstd, x.d_y, means.as<rows::Sums>(), x.d_x, d_gamma, d_beta);
  if (chunks > 1) rows::launch_join(chunks, c, d_gamma, x.d_gamma, x.d_beta);
}
