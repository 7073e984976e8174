// The part of composite_bwd.cpu.09_shared_lanes that 10_short_chains takes over as it is.

void run(const CompositeBwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kFar = 1 << 21;           // samples whose results no cache keeps
  constexpr int64_t kUnit = 1 << 13;          // samples of the smallest share then
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  const bool far = x.shape.samples >= kFar;
  const int64_t threads = omp_get_max_threads(), units = far ? x.shape.samples / kUnit : threads;
  Shares shares(units, 1, threads);
#pragma omp parallel if (x.shape.samples >= kWorthThreads)
  for (int64_t begin = 0, end = 0; shares.take(begin, end);)
    part(x, far, split_rays(x.ray_begin, x.shape.rays, begin, units),
         split_rays(x.ray_begin, x.shape.rays, end, units));
}
