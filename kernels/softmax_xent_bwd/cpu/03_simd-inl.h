// The part of softmax_xent_bwd.cpu.03_simd that 04_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;
constexpr float kLowest = std::numeric_limits<float>::lowest();

/// The first `count` lanes from p; the others can be no maximum.
HWY_INLINE V load_or_lowest(Tag d, const float* p, int64_t count) {
  return hn::IfThenElse(hn::FirstN(d, size_t(count)), load_first(d, p, size_t(count)), hn::Set(d, kLowest));
}

float largest_of(const float* HWY_RESTRICT row, int64_t c) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  V a = hn::Set(d, kLowest), b = a, e = a, f = a;
  int64_t j = 0;
  for (; j + 4 * lanes <= c; j += 4 * lanes) {
    a = hn::Max(a, hn::LoadU(d, row + j));
    b = hn::Max(b, hn::LoadU(d, row + j + lanes));
    e = hn::Max(e, hn::LoadU(d, row + j + 2 * lanes));
    f = hn::Max(f, hn::LoadU(d, row + j + 3 * lanes));
  }
  for (; j + lanes <= c; j += lanes) a = hn::Max(a, hn::LoadU(d, row + j));
  if (j < c) b = hn::Max(b, load_or_lowest(d, row + j, c - j));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(a, b), hn::Max(e, f))));
}

/// Leaves exp(row[j] - largest) in d and returns their sum.
float exponentials(const float* HWY_RESTRICT row, float* HWY_RESTRICT d, int64_t c, float largest) {
  const Tag tag;
  const int64_t lanes = int64_t(hn::Lanes(tag));
  const V m = hn::Set(tag, largest);
  V a = hn::Zero(tag), b = a;
  int64_t j = 0;
  for (; j + 2 * lanes <= c; j += 2 * lanes) {
    const V first = exp_minus(tag, hn::Sub(m, hn::LoadU(tag, row + j)));
    const V second = exp_minus(tag, hn::Sub(m, hn::LoadU(tag, row + j + lanes)));
    hn::StoreU(first, tag, d + j);
    hn::StoreU(second, tag, d + j + lanes);
    a = hn::Add(a, first);
    b = hn::Add(b, second);
  }
  for (; j < c; j += lanes) {
    const size_t count = size_t(c - j < lanes ? c - j : lanes);
    const V e = exp_minus(tag, hn::Sub(m, load_first(tag, row + j, count)));
    store_first(e, tag, d + j, count);
    b = hn::Add(b, hn::IfThenElseZero(hn::FirstN(tag, count), e));
  }
  return hn::GetLane(hn::SumOfLanes(tag, hn::Add(a, b)));
}

void multiply(float* d, int64_t c, float scale) {
  const Tag tag;
  const int64_t lanes = int64_t(hn::Lanes(tag));
  const V by = hn::Set(tag, scale);
  int64_t j = 0;
  for (; j + lanes <= c; j += lanes) hn::StoreU(hn::Mul(hn::LoadU(tag, d + j), by), tag, d + j);
  for (; j < c; ++j) d[j] *= scale;
}
