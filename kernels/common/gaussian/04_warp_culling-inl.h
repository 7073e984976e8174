// The part that gs_rasterize_bwd.cuda.04_warp_culling has in common with 05_lane_per_gaussian and
// gs_rasterize_fwd.cuda.03_warp_culling.

/// Loads entries first ... first + count - 1 of a list, a thread an entry: mean, conic, opacity, color. Sets a bit in `seen` for
/// each patch of the tile at `corner` and each Gaussian that may show there.
template <class Args>
__device__ __forceinline__ void load_batch(const Args& x, int first, int count, const int64_t (&corner)[2],
                                           float (&batch)[9][kBatch],
                                           unsigned (&seen)[cuda::kPatches][kBatch / 32]) {
  const int lane = int(threadIdx.x);
  const int64_t n = x.shape.n;
  float own[9] = {};
  if (lane < count) {
    const int64_t g = x.id[first + lane];
    own[0] = x.mean[g], own[1] = x.mean[n + g];
    for (int j = 0; j < 3; ++j) own[2 + j] = x.conic[j * n + g], own[6 + j] = x.color[j * n + g];
    own[5] = x.opacity[g];
  }
  for (int j = 0; j < 9; ++j) batch[j][lane] = own[j];
  const cuda::GaussianReach reach(own[0], own[1], own[2], own[3], own[4], own[5]);
  for (int patch = 0; patch < cuda::kPatches; ++patch) {
    const float left = float(corner[0] + cuda::patch_column(32 * patch)) + 0.5F;
    const float top = float(corner[1] + cuda::patch_row(32 * patch)) + 0.5F;
    const unsigned all = __ballot_sync(~0U, lane < count && reach.shows(left, top));
    if (lane % 32 == patch) seen[patch][lane / 32] = all;
  }
}
