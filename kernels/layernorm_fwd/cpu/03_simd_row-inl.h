// The part of layernorm_fwd.cpu.03_simd that 04_threads takes over as it is.

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
