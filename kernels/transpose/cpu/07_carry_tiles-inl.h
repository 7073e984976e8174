// The part of transpose.cpu.07_carry that 08_by_size takes over as it is.

// Every row of `out` begins on a line. Rows [i, i + rows) and columns [j_begin, j_end).
void aligned_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16, kAhead = 64;
  const auto [m, n] = x.shape;
  for (int64_t j = j_begin; j < j_end; j += kCols) {
    const int64_t cols = std::min(kCols, j_end - j);
    const float* in = x.in + i * n + j;
    float* out = x.out + j * m + i;
    // Past the end of the rows the walk goes on at the beginning of the next band.
    const bool wraps = j + kAhead >= n;
    const int64_t ahead = wraps ? rows * n + std::min(j + kAhead - n, n - 1) - j : kAhead;
    const int64_t known = std::min(rows, m - i - (wraps ? rows : 0));  // rows that exist there
    for (int64_t r = 0; r < rows; r += 16) {
      if (r + 16 <= known) prefetch_block(in + r * n + ahead, n);
      stream_block(in + r * n, n, out + r, m, cols);
    }
  }
}

// Any alignment. Rows [i_begin, i_end) and columns [j_begin, j_end), at most kPanel of them.
void any_tile(const Transpose::Args<float>& x, int64_t i_begin, int64_t i_end, int64_t j_begin,
              int64_t j_end) {
  constexpr int64_t kCols = 16, kWindow = 16 + kStep;
  const int64_t m = x.shape.m, n = x.shape.n;
  alignas(64) float carried[kPanel * 16];
  alignas(64) float window[kBatch * kWindow];  // of each output row: sixteen carried, kStep fresh elements
  for (int64_t i = i_begin; i < i_end; i += kStep) {
    const int64_t rows = std::min(kStep, i_end - i);
    const bool first = i == i_begin, last = i + rows == i_end;
    for (int64_t j0 = j_begin; j0 < j_end; j0 += kBatch) {
      const int64_t j1 = std::min(j_end, j0 + kBatch);
      const bool wraps = j1 == j_end;
      const int64_t ahead = wraps ? kStep * n + j_begin - j0 : kBatch;
      const int64_t known = std::min(rows, m - i - (wraps ? kStep : 0));
      if (!first)
        for (int64_t j = j0; j < j1; ++j)
          copy_line(carried + (j - j_begin) * 16, window + (j - j0) * kWindow);
      // All columns are transposed before the first line leaves: a load that straddles two stores waits until
      // both are in the cache, and stores get there in order, behind any streaming store before them.
      for (int64_t j = j0; j < j1; j += kCols) {
        const float* in = x.in + i * n + j;
        for (int64_t r = 0; r + 16 <= known; r += 16) prefetch_block(in + ahead + r * n, n);
        transpose_block(in, n, window + (j - j0) * kWindow + 16, kWindow, rows, std::min(kCols, j1 - j));
      }
      for (int64_t j = j0; j < j1; ++j) {
        const float* mine = window + (j - j0) * kWindow;
        emit(mine + 16, x.out + j * m + i, rows, first, last);
        if (!last) copy_line(mine + kStep, carried + (j - j_begin) * 16);
      }
    }
  }
}
