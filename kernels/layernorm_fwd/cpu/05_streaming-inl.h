// The part of layernorm_fwd.cpu.05_streaming that 06_merged_blocks takes over as it is.

/// y = gamma·(row - mean)·rstd + beta.
void normalize_row(const LayernormFwd::Args<float>& x, const float* HWY_RESTRICT row, float* HWY_RESTRICT y,
                   float mean, float rstd, bool stream) {
  constexpr int64_t kLine = 16;  // floats, and no vector is longer
  const Tag d;
  const int64_t c = x.shape.c, lanes = int64_t(hn::Lanes(d));
  const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
  const auto whole_at = [&](int64_t j) HWY_ATTR {
    const V xhat = hn::Mul(hn::Sub(hn::LoadU(d, row + j), m), r);
    return hn::MulAdd(hn::LoadU(d, x.gamma + j), xhat, hn::LoadU(d, x.beta + j));
  };
  const auto plainly = [&](int64_t j, int64_t end) HWY_ATTR {
    for (; j + lanes <= end; j += lanes) hn::StoreU(whole_at(j), d, y + j);
    if (j == end) return;
    const size_t count = size_t(end - j);
    const V xhat = hn::Mul(hn::Sub(load_first(d, row + j, count), m), r);
    store_first(hn::MulAdd(load_first(d, x.gamma + j, count), xhat, load_first(d, x.beta + j, count)), d,
                y + j, count);
  };
  if (!stream) return plainly(0, c);
  // Features up to the next line: y lies `past` of them behind a line's beginning.
  const int64_t past = int64_t(reinterpret_cast<uintptr_t>(y) / sizeof(float)) % kLine;
  int64_t j = std::min(c, (kLine - past) % kLine);
  plainly(0, j);
  for (; j + kLine <= c; j += kLine)
    for (int64_t k = j; k < j + kLine; k += lanes) hn::Stream(whole_at(k), d, y + k);
  plainly(j, c);
}
