// The part of transpose.cpu.05_streaming that 06_prefetch, 07_carry, 08_by_size and 10_realign take over as it is.

// Sixteen rows, up to sixteen columns; every out + c·m is aligned to 64 bytes.
void stream_block(const float* in, int64_t n, float* out, int64_t m, int64_t cols) {
  if (kBlockRows == 16 && cols == 16) {
    for (int64_t c = 0; c < 16; c += 4)
      transpose_four_columns<kBlockRows>(in + c, n, out + c * m, m, StreamStore());
    return;
  }
  const hn::CappedTag<float, 16> d;
  alignas(64) float lines[16 * 16];
  for (int64_t i = 0; i < 16; i += kBlockRows)
    transpose_strip<kBlockRows>(in + i * n, n, lines + i, 16, cols);
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t i = 0; i < 16; i += int64_t(hn::Lanes(d)))
      hn::Stream(hn::Load(d, lines + c * 16 + i), d, out + c * m + i);
}
