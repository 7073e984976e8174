// The part of groupnorm_bwd.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Group `group` of example i: adds to d_gamma and d_beta of its channels, writes d_x.
void one_group(const GroupnormBwd::Args<float>& x, int64_t i, int64_t group) {
  const Tag d;
  const int64_t each = x.shape.each, hw = x.shape.hw, N = each * hw, at = i * x.shape.groups + group;
  const float *gamma = x.gamma + group * each, rstd = x.rstd[at];
  const V m = hn::Set(d, x.mean[at]), r = hn::Set(d, rstd);
  float sum = 0, product = 0;
  for (int64_t e = 0; e < each; ++e) {
    const float *in = x.x + at * N + e * hw, *d_y = x.d_y + at * N + e * hw;
    const TwoSums sums = two_sums_run(d, hw, [=](const auto& load, V& plain, V& scaled) HWY_ATTR {
      const V g = load(d_y);
      plain = hn::Add(plain, g);
      scaled = hn::MulAdd(g, hn::Mul(hn::Sub(load(in), m), r), scaled);
    });
    x.d_beta[group * each + e] += sums.first;
    x.d_gamma[group * each + e] += sums.second;
    sum += gamma[e] * sums.first;
    product += gamma[e] * sums.second;
  }
  // d_x = rstd·(g - sum/N - xhat·product/N), with loop constants computed before the loop.
  const V shift = hn::Set(d, rstd * (sum / float(N))), slope = hn::Set(d, rstd * (product / float(N)));
  for (int64_t e = 0; e < each; ++e) {
    const float *in = x.x + at * N + e * hw, *d_y = x.d_y + at * N + e * hw;
    const V scale = hn::Set(d, gamma[e] * rstd);
    write_run(d, x.d_x + at * N + e * hw, hw, false, [=](const auto& load) HWY_ATTR {
      const V xhat = hn::Mul(hn::Sub(load(in), m), r);
      return hn::NegMulAdd(xhat, slope, hn::MulSub(load(d_y), scale, shift));
    });
  }
}

/// Groups [group, end) of all examples: no two threads add to one channel.
void gradients(const GroupnormBwd::Args<float>& x, int64_t group, int64_t end) {
  const int64_t each = x.shape.each;
  std::fill(x.d_gamma + group * each, x.d_gamma + end * each, 0.0F);
  std::fill(x.d_beta + group * each, x.d_beta + end * each, 0.0F);
  for (int64_t i = 0; i < x.shape.n; ++i)
    for (int64_t k = group; k < end; ++k) one_group(x, i, k);
}
