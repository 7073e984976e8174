// The part of pool_bwd.cpu.02_simd that 03_threads and 05_winners take over as it is.

/// A vector of windows: each tap, in order, takes the gradient where it holds the largest and none before it did.
/// x, d_x: `rows` sorted rows; d_y: readable for a whole vector.
void claim(const PoolShape& s, const Sorted& sorted, int64_t rows, const float* HWY_RESTRICT x,
           const float* HWY_RESTRICT d_y, float* HWY_RESTRICT d_x) {
  const Tag d;
  for (int64_t j = 0; j < s.ow(); j += lanes()) {
    auto largest = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int64_t u = 0; u < rows; ++u)
      for (int64_t v = 0; v < s.s; ++v)
        largest = hn::Max(largest, hn::LoadU(d, x + u * sorted.floats() + sorted.at(v) + j));
    auto left = hn::LoadU(d, d_y + j);  // zero once a tap has it
    for (int64_t u = 0; u < rows; ++u)
      for (int64_t v = 0; v < s.s; ++v) {
        const int64_t at = u * sorted.floats() + sorted.at(v) + j;
        const auto mine = hn::Eq(hn::LoadU(d, x + at), largest);
        hn::StoreU(hn::Add(hn::LoadU(d, d_x + at), hn::IfThenElseZero(mine, left)), d, d_x + at);
        left = hn::IfThenZeroElse(mine, left);
      }
  }
}
