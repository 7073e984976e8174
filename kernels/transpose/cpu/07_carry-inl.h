// The part of transpose.cpu.07_carry that 08_by_size, 10_realign and 11_whole_lines take over as it is.

HWY_INLINE void copy_line(const float* from, float* to) {
  const hn::CappedTag<float, 16> d;
  for (int64_t k = 0; k < 16; k += int64_t(hn::Lanes(d))) hn::Store(hn::Load(d, from + k), d, to + k);
}

// Writes elements of one output row. `fresh` points at `count` new ones, of which the first belongs to `out`;
// before them lie the sixteen that came last. The lines that are now complete leave:
//
//        carried from the last step |  fresh
//   . . . . . . . . . . . . c c c c | f f f f f f f f f f f f f f f f f f f f f f f f f f f
//                           |<-- one line of out -->|<-- one line of out -->|  carried on
//
// At the first step nothing was carried, and at the last nothing may be left: these pieces of lines are
// stored plainly.
HWY_INLINE void emit(const float* fresh, float* out, int64_t count, bool first, bool last) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t past =
      int64_t(reinterpret_cast<uintptr_t>(out) / sizeof(float)) % 16;  // of this line, before `out`
  int64_t k = -past;
  if (first && past > 0) {
    k += 16;
    for (int64_t e = 0; e < std::min(k, count); ++e) out[e] = fresh[e];
  }
  for (; k + 16 <= count; k += 16)
    for (int64_t e = k; e < k + 16; e += lanes) hn::Stream(hn::LoadU(d, fresh + e), d, out + e);
  if (last)
    for (; k < count; ++k) out[k] = fresh[k];
}
