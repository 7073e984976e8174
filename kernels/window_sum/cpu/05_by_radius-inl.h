// The part of window_sum.cpu.05_by_radius that 06_threads takes over as it is.

void one_by_one(const float* x, float* y, int64_t n, int64_t r, int64_t i, int64_t end) {
  for (; i < end; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(i - r, 0); j < std::min(i + r + 1, n); ++j) sum += x[j];
    y[i] = sum;
  }
}

// Outputs [i, end), every window from its beginning.
void direct(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, int64_t n, int64_t r, int64_t i,
            int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), whole = std::min(end, std::max(i, r));
  one_by_one(x, y, n, r, i, whole);
  for (i = whole; i + 4 * lanes <= std::min(end, n - r); i += 4 * lanes) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (const float *p = x + i - r, *past = x + i + r; p <= past; ++p) {
      a = hn::Add(a, hn::LoadU(d, p));
      b = hn::Add(b, hn::LoadU(d, p + lanes));
      c = hn::Add(c, hn::LoadU(d, p + 2 * lanes));
      e = hn::Add(e, hn::LoadU(d, p + 3 * lanes));
    }
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
    hn::StoreU(c, d, y + i + 2 * lanes);
    hn::StoreU(e, d, y + i + 3 * lanes);
  }
  one_by_one(x, y, n, r, i, end);
}

constexpr int64_t kShort = 16;  // largest radius added up directly
