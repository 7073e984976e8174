// The part of pool_bwd.cpu.03_threads that 05_winners takes over as it is.

/// Output rows [first, last) and channels [begin, end) of one image, NHWC. They include the pixels above the
/// first window and below the last.
void channels(const PoolShape& s, int64_t first, int64_t last, int64_t begin, int64_t end, const float* x,
              const float* d_y, float* d_x) {
  const int64_t top = first == 0 ? 0 : first * s.stride_y - s.pad_y;
  const int64_t bottom = last == s.oh() ? s.h : last * s.stride_y - s.pad_y;
  if (end - begin == s.c)
    std::fill_n(d_x + top * s.w * s.c, (bottom - top) * s.w * s.c, 0.0F);
  else
    for (int64_t p = top * s.w; p < bottom * s.w; ++p) std::fill_n(d_x + p * s.c + begin, end - begin, 0.0F);
  for (int64_t i = first; i < last; ++i)
    for (int64_t j = 0; j < s.ow(); ++j) {
      const float* upstream = d_y + (i * s.ow() + j) * s.c;
      int64_t k = begin;
      for (; k + lanes() <= end; k += lanes())
        window(Tag(), s, s.rows(i), s.columns(j), x + k, upstream + k, d_x + k);
      for (; k < end; ++k)
        window(hn::CappedTag<float, 1>(), s, s.rows(i), s.columns(j), x + k, upstream + k, d_x + k);
    }
}

void pool(const Args& x) {
  const PoolShape& s = x.shape;
  const int64_t x_size = s.h * s.w, y_size = s.oh() * s.ow();
  const double portions = double(s.n * s.c) * double(x_size + y_size) / 1e5;  // of some microseconds
  const int threads = std::max(1, int(std::min(portions, double(omp_get_max_threads()))));
  if (s.nhwc != 0) {
    // Windows of different rows meet no pixel where the stride is as long as the window: rows are shared out, else channels.
    const bool by_rows = s.stride_y >= s.r;
    const int64_t vectors = (s.c + lanes() - 1) / lanes();
    const int64_t parts = std::clamp<int64_t>(by_rows ? s.oh() : vectors, 1, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < s.n * parts; ++i) {
      const int64_t image = i / parts, part = i % parts;
      const auto cut = [&](int64_t size, int64_t at) { return size * at / parts; };
      const int64_t first = by_rows ? cut(s.oh(), part) : 0, last = by_rows ? cut(s.oh(), part + 1) : s.oh();
      const int64_t begin = by_rows ? 0 : cut(vectors, part) * lanes();
      const int64_t end = by_rows ? s.c : std::min(s.c, cut(vectors, part + 1) * lanes());
      channels(s, first, last, begin, end, x.x + image * x_size * s.c, x.d_y + image * y_size * s.c,
               x.d_x + image * x_size * s.c);
    }
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < s.n * s.c; ++i)
    picture(s, x.x + i * x_size, x.d_y + i * y_size, x.d_x + i * x_size);
}
