// The part of window_sum.cpu.04_scan that 05_by_radius and 06_threads take over as it is.

/// Inclusive sums from the last lane down.
template <class D, class V>
HWY_INLINE V suffix_sum(D d, V v) {
  return hn::Reverse(d, prefix_sum(d, hn::Reverse(d, v)));
}
template <class D, class V>
HWY_INLINE V first_lane(D d, V v) {
  return hn::Set(d, hn::GetLane(v));
}

void group(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, int64_t n, int64_t r, int64_t first) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), past = first + 2 * r + 1, end = std::min(past, n);
  auto sum = hn::Zero(d);  // the running sum, in all lanes
  int64_t i = end;
  for (const int64_t no_output = std::min(past, n + r); i < no_output; i += lanes)
    sum = hn::Add(sum, load_first(d, x + i - r, size_t(std::min(lanes, no_output - i))));
  sum = hn::SumOfLanes(d, sum);
  const int64_t low = std::max(first, r);
  for (i = end; i - lanes >= low; i -= lanes) {
    const auto part = suffix_sum(d, hn::LoadU(d, x + i - lanes - r));
    hn::StoreU(hn::Add(part, sum), d, y + i - lanes);
    sum = hn::Add(sum, first_lane(d, part));
  }
  if (i > low) {
    const auto part = suffix_sum(d, load_first(d, x + low - r, size_t(i - low)));
    store_first(hn::Add(part, sum), d, y + low, size_t(i - low));
    sum = hn::Add(sum, first_lane(d, part));
  }
  for (i = first; i < std::min(low, end); i += lanes)  // windows that begin before x
    store_first(sum, d, y + i, size_t(std::min({lanes, low - i, end - i})));

  sum = hn::Zero(d);
  const int64_t high = std::min(end, n - r);
  for (i = first + 1; i + lanes <= high; i += lanes) {
    const auto part = prefix_sum(d, hn::LoadU(d, x + i + r));
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Add(part, sum)), d, y + i);
    sum = hn::Add(sum, last_lane(d, part));
  }
  if (i < high) {
    const size_t count = size_t(high - i);
    const auto part = prefix_sum(d, load_first(d, x + i + r, count));
    store_first(hn::Add(load_first(d, y + i, count), hn::Add(part, sum)), d, y + i, count);
    sum = hn::Add(sum, last_lane(d, part));
  }
  for (i = std::max(first + 1, n - r); i < end; i += lanes) {  // windows that end behind x
    const size_t count = size_t(std::min(lanes, end - i));
    store_first(hn::Add(load_first(d, y + i, count), sum), d, y + i, count);
  }
}
