// The part of transpose.cpu.05_streaming that 06_prefetch takes over as it is.

void run(const Transpose::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n;
  const int64_t bands = (m + kBand - 1) / kBand, tiles = (n + kTileCols - 1) / kTileCols;
  const auto one = [&](int64_t t) {
    const int64_t i = t / tiles * kBand, j = t % tiles * kTileCols;
    HWY_DYNAMIC_DISPATCH(tile)(x, i, std::min(kBand, m - i), j, std::min(n, j + kTileCols));
  };
  if (m * n < kEnough) {
    for (int64_t t = 0; t < bands * tiles; ++t) one(t);
    hwy::FlushStream();
    return;
  }
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (int64_t t = 0; t < bands * tiles; ++t) one(t);
    hwy::FlushStream();  // once a thread: the lines it streamed become visible to the others
  }
}
