// The part of layernorm_fwd.cpu.03_simd that 04_threads, 05_streaming and 06_merged_blocks take over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

float sum_of(const float* HWY_RESTRICT row, int64_t c) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  V a = hn::Zero(d), b = a, e = a, f = a;
  int64_t j = 0;
  for (; j + 4 * lanes <= c; j += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, row + j));
    b = hn::Add(b, hn::LoadU(d, row + j + lanes));
    e = hn::Add(e, hn::LoadU(d, row + j + 2 * lanes));
    f = hn::Add(f, hn::LoadU(d, row + j + 3 * lanes));
  }
  for (; j + lanes <= c; j += lanes) a = hn::Add(a, hn::LoadU(d, row + j));
  if (j < c) b = hn::Add(b, load_first(d, row + j, size_t(c - j)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(e, f))));
}

float squares_about(const float* HWY_RESTRICT row, int64_t c, float mean) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const V m = hn::Set(d, mean);
  V a = hn::Zero(d), b = a, e = a, f = a;
  const auto with = [d, m](V sum, const float* p) HWY_ATTR {
    const V deviation = hn::Sub(hn::LoadU(d, p), m);
    return hn::MulAdd(deviation, deviation, sum);
  };
  int64_t j = 0;
  for (; j + 4 * lanes <= c; j += 4 * lanes) {
    a = with(a, row + j);
    b = with(b, row + j + lanes);
    e = with(e, row + j + 2 * lanes);
    f = with(f, row + j + 3 * lanes);
  }
  for (; j + lanes <= c; j += lanes) a = with(a, row + j);
  if (j < c) {  // lanes beyond the row deviate by nothing
    const size_t count = size_t(c - j);
    const V deviation = hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(load_first(d, row + j, count), m));
    b = hn::MulAdd(deviation, deviation, b);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(e, f))));
}
