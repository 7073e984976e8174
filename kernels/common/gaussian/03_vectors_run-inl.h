// The part of gs_rasterize_bwd.cpu.03_vectors, once for all instruction sets, that gs_rasterize_abs_bwd.cpu.03_vectors takes over as it is.

template <class Args>
void run(const Args& x) {
  const int64_t n = x.shape.n;
  std::vector<GsRecord> records(static_cast<size_t>(n));
  std::vector<GsGradient> sums(static_cast<size_t>(n));
  for (int64_t g = 0; g < n; ++g) records[size_t(g)] = gs_record(x, g);
  HWY_DYNAMIC_DISPATCH(walk_all)(x, records.data(), sums.data());
  for (int64_t g = 0; g < n; ++g) gs_write(x, g, sums[size_t(g)]);
}
