// The part of transpose.cpu.11_whole_lines that 12_row_runs takes over as it is.

constexpr int64_t kPanel = 1024;  // columns walked down together
constexpr int64_t kBatch = 64;    // columns transposed before they are written
constexpr int64_t kStep = 32;     // rows a step
constexpr int64_t kAhead = 64;    // columns between transposition and prefetch

#if HWY_MAX_BYTES == 64
using Line = hn::FixedTag<float, 16>;
using Vector = hn::Vec<Line>;

// Four vectors seen as a 4x4 matrix of groups of four lanes, transposed.
HWY_INLINE void transpose_groups(Vector& a, Vector& b, Vector& c, Vector& d) {
  const Line line;
  const auto ab02 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);  // a0 b0 a2 b2
  const auto ab13 = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));  // a1 b1 a3 b3
  const auto cd02 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(d), c);
  const auto cd13 = hn::OddEvenBlocks(d, hn::SwapAdjacentBlocks(c));
  a = hn::ConcatLowerLower(line, cd02, ab02);  // a0 b0 c0 d0
  b = hn::ConcatLowerLower(line, cd13, ab13);
  c = hn::ConcatUpperUpper(line, cd02, ab02);
  d = hn::ConcatUpperUpper(line, cd13, ab13);
}

// Four columns from the groups that hold them.
template <class Store>
HWY_INLINE void finish_four(Vector r0, Vector r1, Vector r2, Vector r3, float* out, int64_t m, Store& store) {
  const Line d;
  const hn::Repartition<uint64_t, Line> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, out);
  store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, out + m);
  store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, out + 2 * m);
  store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, out + 3 * m);
}

// 16x16 elements; every input line is loaded once, whole. v[4 * q + r] is row r + 4 q, later columns 4 q to
// 4 q + 3 of rows r, r + 4, r + 8, r + 12.
template <class Store>
HWY_INLINE void turn_block(const float* in, int64_t n, float* out, int64_t m, Store store) {
  const Line d;
  Vector v[16];
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t q = 0; q < 4; ++q) v[4 * q + r] = hn::LoadU(d, in + (4 * q + r) * n);
    transpose_groups(v[r], v[4 + r], v[8 + r], v[12 + r]);
  }
  // Not a loop: with a long `store` compilers do not unroll it, and then keep v in memory.
  finish_four(v[0], v[1], v[2], v[3], out, m, store);
  finish_four(v[4], v[5], v[6], v[7], out + 4 * m, m, store);
  finish_four(v[8], v[9], v[10], v[11], out + 8 * m, m, store);
  finish_four(v[12], v[13], v[14], v[15], out + 12 * m, m, store);
}
#endif

// Sixteen rows, up to sixteen columns; every out + c·m is aligned to 64 bytes.
void stream_block(const float* in, int64_t n, float* out, int64_t m, int64_t cols) {
#if HWY_MAX_BYTES == 64
  if (cols == 16) return turn_block(in, n, out, m, StreamStore());
#endif
  const hn::CappedTag<float, 16> d;
  alignas(64) float lines[16 * 16];
  for (int64_t i = 0; i < 16; i += kBlockRows)
    transpose_strip<kBlockRows>(in + i * n, n, lines + i, 16, cols);
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t i = 0; i < 16; i += int64_t(hn::Lanes(d)))
      hn::Stream(hn::Load(d, lines + c * 16 + i), d, out + c * m + i);
}
