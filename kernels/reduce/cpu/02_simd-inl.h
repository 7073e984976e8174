// The part of reduce.cpu.02_simd that 03_threads takes over as it is.

/// The sum of elements [i, end), in eight vectors of sums.
float sum_of(const float* x, int64_t i, int64_t end) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = int64_t(hn::Lanes(d));
  V a = hn::Zero(d), b = a, c = a, e = a, f = a, g = a, h = a, k = a;
  for (; i + 8 * lanes <= end; i += 8 * lanes) {
    a = hn::Add(a, hn::LoadU(d, x + i));
    b = hn::Add(b, hn::LoadU(d, x + i + lanes));
    c = hn::Add(c, hn::LoadU(d, x + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, x + i + 3 * lanes));
    f = hn::Add(f, hn::LoadU(d, x + i + 4 * lanes));
    g = hn::Add(g, hn::LoadU(d, x + i + 5 * lanes));
    h = hn::Add(h, hn::LoadU(d, x + i + 6 * lanes));
    k = hn::Add(k, hn::LoadU(d, x + i + 7 * lanes));
  }
  for (; i + lanes <= end; i += lanes) a = hn::Add(a, hn::LoadU(d, x + i));
  const V low = hn::Add(hn::Add(a, b), hn::Add(c, e)), high = hn::Add(hn::Add(f, g), hn::Add(h, k));
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  for (; i < end; ++i) sum += x[i];
  return sum;
}
