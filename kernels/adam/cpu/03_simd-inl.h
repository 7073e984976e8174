// The part of adam.cpu.03_simd that 05_threads and 06_prefetch take over as it is.

/// One step of `count` entries from i on, of those lanes where `live` holds. correct1, correct2: 1 - beta^step.
template <class D, class V, class M>
HWY_INLINE void step(D d, const Adam::Args<float>& x, int64_t i, size_t count, V gradient, M live, V correct1,
                     V correct2) {
  const float* h = x.hyper;
  const V param = load_first(d, x.param + i, count);
  const V m = load_first(d, x.m + i, count), v = load_first(d, x.v + i, count);
  const V g = hn::MulAdd(hn::Set(d, h[Adam::l2]), param, gradient);
  const V new_m = hn::MulAdd(hn::Set(d, h[Adam::beta1]), m, hn::Mul(hn::Set(d, 1 - h[Adam::beta1]), g));
  const V new_v =
      hn::MulAdd(hn::Set(d, h[Adam::beta2]), v, hn::Mul(hn::Mul(hn::Set(d, 1 - h[Adam::beta2]), g), g));
  const V root = hn::Sqrt(hn::Div(new_v, correct2));
  const V denominator = hn::Mul(correct1, hn::Add(root, hn::Set(d, h[Adam::epsilon])));
  const V change = hn::Div(hn::Mul(hn::Set(d, h[Adam::rate]), new_m), denominator);
  store_first(hn::IfThenElse(live, hn::Sub(param, change), param), d, x.param + i, count);
  store_first(hn::IfThenElse(live, new_m, m), d, x.m + i, count);
  store_first(hn::IfThenElse(live, new_v, v), d, x.v + i, count);
}

/// Entries [begin, end) of one group, whose count is `steps` by now.
void one_group(const Adam::Args<float>& x, int64_t begin, int64_t end, int32_t steps) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto correct1 = hn::Set(d, float(1 - std::pow(double(x.hyper[Adam::beta1]), steps)));
  const auto correct2 = hn::Set(d, float(1 - std::pow(double(x.hyper[Adam::beta2]), steps)));
  const auto all = hn::FirstN(d, size_t(lanes));
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    step(d, x, i, count, load_first(d, x.gradient + i, count), all, correct1, correct2);
  }
}
