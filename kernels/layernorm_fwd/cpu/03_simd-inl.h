// The part of layernorm_fwd.cpu.03_simd that 04_threads takes over as it is.
//
// Included in place, inside the namespaces of a rung: no guard, and no namespace of its own.

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

/// y = gamma·(row - mean)·rstd + beta.
void normalize_row(const LayernormFwd::Args<float>& x, const float* HWY_RESTRICT row, float* HWY_RESTRICT y,
                   float mean, float rstd) {
  const Tag d;
  const int64_t c = x.shape.c, lanes = int64_t(hn::Lanes(d));
  const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
  int64_t j = 0;
  for (; j + lanes <= c; j += lanes) {
    const V xhat = hn::Mul(hn::Sub(hn::LoadU(d, row + j), m), r);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, x.gamma + j), xhat, hn::LoadU(d, x.beta + j)), d, y + j);
  }
  if (j == c) return;
  const size_t count = size_t(c - j);
  const V xhat = hn::Mul(hn::Sub(load_first(d, row + j, count), m), r);
  store_first(hn::MulAdd(load_first(d, x.gamma + j, count), xhat, load_first(d, x.beta + j, count)), d, y + j,
              count);
}
