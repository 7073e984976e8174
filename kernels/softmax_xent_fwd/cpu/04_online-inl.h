// The part of softmax_xent_fwd.cpu.04_online that 05_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;
constexpr float kLowest = std::numeric_limits<float>::lowest();

/// The first `count` lanes from p; the others can be no maximum.
HWY_INLINE V load_or_lowest(Tag d, const float* p, int64_t count) {
  return hn::IfThenElse(hn::FirstN(d, size_t(count)), load_first(d, p, size_t(count)), hn::Set(d, kLowest));
}

// The sum of exp(row[j] - largest), with the largest logit found on the way. Every lane keeps its own: sum =
// sum of exp(row[j] - top) over the logits that the lane has seen.
struct Reduced {
  float largest, sum;
};
Reduced reduce(const float* HWY_RESTRICT row, int64_t c) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  V top = hn::Set(d, kLowest), sum = hn::Zero(d);
  // A lane whose maximum grows scales its sum down, exp(old - new). That happens about log(c) times a row.
  const auto raise = [&](V candidate) HWY_ATTR {
    if (hn::AllFalse(d, hn::Gt(candidate, top))) return;
    const V higher = hn::Max(candidate, top);
    sum = hn::Mul(sum, exp_minus(d, hn::Sub(higher, top)));
    top = higher;
  };
  int64_t j = 0;
  for (; j + 4 * lanes <= c; j += 4 * lanes) {
    const V a = hn::LoadU(d, row + j), b = hn::LoadU(d, row + j + lanes),
            e = hn::LoadU(d, row + j + 2 * lanes), f = hn::LoadU(d, row + j + 3 * lanes);
    raise(hn::Max(hn::Max(a, b), hn::Max(e, f)));
    const V first = hn::Add(exp_minus(d, hn::Sub(top, a)), exp_minus(d, hn::Sub(top, b)));
    const V second = hn::Add(exp_minus(d, hn::Sub(top, e)), exp_minus(d, hn::Sub(top, f)));
    sum = hn::Add(sum, hn::Add(first, second));
  }
  for (; j < c; j += lanes) {
    const int64_t count = c - j < lanes ? c - j : lanes;
    const V a = load_or_lowest(d, row + j, count);
    raise(a);
    const V e = exp_minus(d, hn::Sub(top, a));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, size_t(count)), e));
  }
  const V largest = hn::MaxOfLanes(d, top);
  sum = hn::Mul(sum, exp_minus(d, hn::Sub(largest, top)));  // lanes that saw nothing: 0
  return {hn::GetLane(largest), hn::GetLane(hn::SumOfLanes(d, sum))};
}
