// The part of transpose.cpu.10_realign that 11_whole_lines takes over as it is.

// Every row of `out` begins on a line. Rows [i, i + rows) and columns [j_begin, j_end).
void aligned_tile(const Transpose::Args<float>& x, int64_t i, int64_t rows, int64_t j_begin, int64_t j_end) {
  constexpr int64_t kCols = 16;
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
