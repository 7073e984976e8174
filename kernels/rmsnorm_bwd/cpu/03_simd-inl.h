// The part of rmsnorm_bwd.cpu.03_simd that 04_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end): writes d_x, and adds to d_gamma, which are padded to whole vectors.
void rows(const RmsnormBwd::Args<float>& x, int64_t i, int64_t end, float* HWY_RESTRICT d_gamma) {
  const Tag d;
  const int64_t c = x.shape.c, lanes = int64_t(hn::Lanes(d));
  for (; i < end; ++i) {
    const float *row = x.x + i * c, *d_y = x.d_y + i * c, *gamma = x.gamma;
    const V r = hn::Set(d, x.rrms[i]);
    V sum = hn::Zero(d), product = sum;
    const auto add = [&](const auto& load, int64_t j) HWY_ATTR {
      const V upstream = load(d_y), xhat = hn::Mul(load(row), r);
      const V g = hn::Mul(upstream, load(gamma));
      product = hn::MulAdd(g, xhat, product);
      hn::StoreU(hn::MulAdd(upstream, xhat, hn::LoadU(d, d_gamma + j)), d, d_gamma + j);
    };
    int64_t j = 0;
    for (; j + lanes <= c; j += lanes) add(WholeAt<Tag>{j}, j);
    if (j < c) add(PartAt<Tag>{j, size_t(c - j)}, j);  // lanes beyond the row have an upstream gradient of 0
    const float rstd = x.rrms[i], share = rstd / float(c);
    const V slope = hn::Set(d, share * hn::GetLane(hn::SumOfLanes(d, product)));
    write_run(d, x.d_x + i * c, c, false, [=](const auto& load) HWY_ATTR {
      const V xhat = hn::Mul(load(row), r), g = hn::Mul(load(d_y), load(gamma));
      return hn::NegMulAdd(xhat, slope, hn::Mul(g, r));
    });
  }
}
