// The part of batchnorm_bwd.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// d_x = scale·d_y - shift - (x - mean)·slope, from the sums of d_y and d_y·xhat over a channel.
struct Line {
  float scale, shift, slope;
};

Line finish(const BatchnormBwd::Args<float>& x, int64_t j, float sum, float product) {
  const float N = float(BatchnormFwd::count(x.shape)), scale = x.gamma[j] * x.rstd[j];
  x.d_beta[j] = sum;
  x.d_gamma[j] = product;
  return {scale, scale * (sum / N), scale * (x.rstd[j] * (product / N))};
}

/// A channel in runs of hw numbers, of which it has one in each example.
void by_runs(const BatchnormBwd::Args<float>& x, int64_t j) {
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw;
  const V m = hn::Set(d, x.mean[j]), r = hn::Set(d, x.rstd[j]);
  float sum = 0, product = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float *in = x.x + j * hw + i * step, *d_y = x.d_y + j * hw + i * step;
    const TwoSums sums = two_sums_run(d, hw, [=](const auto& load, V& plain, V& scaled) HWY_ATTR {
      const V g = load(d_y);
      plain = hn::Add(plain, g);
      scaled = hn::MulAdd(g, hn::Mul(hn::Sub(load(in), m), r), scaled);
    });
    sum += sums.first;
    product += sums.second;
  }
  const Line line = finish(x, j, sum, product);
  const V scale = hn::Set(d, line.scale), shift = hn::Set(d, line.shift), slope = hn::Set(d, line.slope);
  for (int64_t i = 0; i < n; ++i) {
    const float *in = x.x + j * hw + i * step, *d_y = x.d_y + j * hw + i * step;
    write_run(d, x.d_x + j * hw + i * step, hw, false, [=](const auto& load) HWY_ATTR {
      return hn::NegMulAdd(hn::Sub(load(in), m), slope, hn::MulSub(load(d_y), scale, shift));
    });
  }
}

/// Channels [j, end).
void gradients(const BatchnormBwd::Args<float>& x, int64_t j, int64_t end) {
  for (; j < end; ++j) by_runs(x, j);
}
