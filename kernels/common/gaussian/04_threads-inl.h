// The part of gs_rasterize_bwd.cpu.04_threads, once for all instruction sets, that gs_rasterize_abs_bwd.cpu.04_threads takes over as it is.

template <class Args>
GsGradient total(const std::vector<std::vector<GsGradient>>& sums, int64_t g) {
  GsGradient all = sums[0][size_t(g)];
  for (size_t k = 1; k < sums.size(); ++k) {
    const GsGradient& more = sums[k][size_t(g)];
    all.x += more.x, all.y += more.y, all.xx += more.xx, all.xy += more.xy, all.yy += more.yy;
    all.opacity += more.opacity;
    for (int c = 0; c < 3; ++c) all.color[c] += more.color[c];
    if constexpr (requires(const Args& x) { x.pull; })
      for (int c = 0; c < 2; ++c) all.pull[c] += more.pull[c];
  }
  return all;
}

template <class Args>
void run(const Args& x) {
  const int64_t n = x.shape.n;
  const int most = x.shape.tiles() > 4 || n > 1000 ? omp_get_max_threads() : 1;
  std::vector<GsRecord> records(static_cast<size_t>(n));
  std::vector<std::vector<GsGradient>> sums;
#pragma omp parallel num_threads(most)
  {
#pragma omp single
    sums.resize(size_t(omp_get_num_threads()));
    const auto mine = size_t(omp_get_thread_num());
    sums[mine].resize(static_cast<size_t>(n));
#pragma omp for schedule(static)
    for (int64_t g = 0; g < n; ++g) records[size_t(g)] = gs_record(x, g);
    HWY_DYNAMIC_DISPATCH(walk_some)
    (x, records.data(), int64_t(mine), int64_t(sums.size()), sums[mine].data());
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t g = 0; g < n; ++g) gs_write(x, g, total<Args>(sums, g));
  }
}
