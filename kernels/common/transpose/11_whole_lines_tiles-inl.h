// The part of transpose.cpu.11_whole_lines that 12_row_runs takes over as it is.

#if HWY_MAX_BYTES == 64
// Streams whole lines of output rows that begin anywhere. A line begins `past` elements before the block does.
// In a vector rotated by `past` lanes every element has its place within a line: the lanes below `past` belong
// to the next line, the others complete the line before.
//
//     in the order of rows     a b c d e f g h      next block     i j k l m n o p        past = 3, lines of 8
//     rotated                  f g h a b c d e                     n o p i j k l m
//     one line                                   f g h i j k l m
struct RealignedStore {
  float* carried;  // the vector before, of one output row after the other
  HWY_INLINE void operator()(hn::Vec<Line> fresh, Line d, float* to) {
    alignas(64) static constexpr int32_t kLanes[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                                       0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int64_t past = int64_t(reinterpret_cast<uintptr_t>(to) / sizeof(float)) % 16;
    const auto turn = hn::SetTableIndices(d, kLanes + 16 - past);
    const auto before = hn::TableLookupLanes(hn::Load(d, carried), turn);
    const auto after = hn::TableLookupLanes(fresh, turn);
    hn::Stream(hn::IfThenElse(hn::FirstN(d, size_t(past)), before, after), d, to - past);
    hn::Store(fresh, d, carried);
    carried += 16;
  }
};
#endif

// Any alignment. Rows [i_begin, i_end) and columns [j_begin, j_end), at most kPanel of them.
void any_tile(const Transpose::Args<float>& x, int64_t i_begin, int64_t i_end, int64_t j_begin,
              int64_t j_end) {
  const int64_t n = x.shape.n;
  alignas(64) float carried[kPanel * 16];
  for (int64_t i = i_begin; i < i_end; i += kStep) {
    const int64_t rows = std::min(kStep, i_end - i);
    const bool first = i == i_begin, last = i + rows == i_end;
    // kAhead columns further; past the end of the panel the walk goes on at the beginning of the next step.
    const auto ahead = [&](int64_t j) {
      if (j + kAhead < j_end) return Ahead{kAhead, rows};
      const int64_t there = std::min(j_begin + j + kAhead - j_end, j_end - 1);
      return Ahead{kStep * n + there - j, std::min(kStep, i_end - i - kStep)};
    };
    int64_t j = j_begin;
#if HWY_MAX_BYTES == 64
    if (!first && !last)
      for (; j + 16 <= j_end; j += 16)
        for (int64_t r = 0; r < kStep; r += 16) {
          const float* in = x.in + (i + r) * n + j;
          if (r + 16 <= ahead(j).rows) prefetch_block(in + ahead(j).by, n);
          turn_block(in, n, x.out + j * x.shape.m + i + r, x.shape.m,
                     RealignedStore{carried + (j - j_begin) * 16});
        }
#endif
    for (; j < j_end; j += kBatch)
      batch(x, i, rows, j, std::min(j_end, j + kBatch), carried + (j - j_begin) * 16, first, last, ahead(j));
  }
}
