// The part of transpose.cpu.10_realign that 11_whole_lines and 12_row_runs take over as it is.

// Prefetches sixteen lines, one a row, into the second-level cache.
HWY_INLINE void prefetch_block(const float* in, int64_t n) {
  for (int64_t r = 0; r < 16; ++r) __builtin_prefetch(in + r * n, 0, 2);
}

// Result in the caches. Rows [i, i + rows) and columns [j_begin, j_end).
void plain_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols)
    transpose_block(x.in + i * n + j, n, x.out + j * m + i, m, rows, std::min(kCols, j_end - j));
}

// The next elements to prefetch: those `by` further on, in the first `rows` rows.
struct Ahead {
  int64_t by, rows;
};

// Any alignment, through a window in L1. Rows [i, i + rows) and columns [j0, j1), at most kBatch of them, of
// each of which `carried` holds the sixteen elements before row i.
void batch(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j0, int64_t j1, float* carried,
           bool first, bool last, Ahead ahead) {
  constexpr int64_t kCols = 16, kWindow = 16 + kStep;
  const int64_t m = x.shape.m, n = x.shape.n;
  alignas(64) float window[kBatch * kWindow];  // of each output row: sixteen carried, kStep fresh elements
  if (!first)
    for (int64_t j = j0; j < j1; ++j) copy_line(carried + (j - j0) * 16, window + (j - j0) * kWindow);
  // All columns are transposed before the first line leaves: a load that straddles two stores waits until
  // both are in the cache, and stores get there in order, behind any streaming store before them.
  for (int64_t j = j0; j < j1; j += kCols) {
    const float* in = x.in + i * n + j;
    for (int64_t r = 0; r + 16 <= ahead.rows; r += 16) prefetch_block(in + ahead.by + r * n, n);
    transpose_block(in, n, window + (j - j0) * kWindow + 16, kWindow, rows, std::min(kCols, j1 - j));
  }
  for (int64_t j = j0; j < j1; ++j) {
    const float* mine = window + (j - j0) * kWindow;
    emit(mine + 16, x.out + j * m + i, rows, first, last);
    if (!last) copy_line(mine + kStep, carried + (j - j0) * 16);
  }
}
