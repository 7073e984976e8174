// The part of batchnorm_fwd.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Everything of channel j that follows from its mean and the sum of squares about it.
float finish(const BatchnormFwd::Args<float>& x, int64_t j, float mean, float squares) {
  const int64_t N = BatchnormFwd::count(x.shape);
  const float variance = squares / float(N), rstd = 1 / std::sqrt(variance + *x.epsilon);
  const float unbiased = N > 1 ? squares / float(N - 1) : 0;
  x.mean[j] = mean;
  x.rstd[j] = rstd;
  x.running_mean[j] += *x.momentum * (mean - x.running_mean[j]);
  x.running_var[j] += *x.momentum * (unbiased - x.running_var[j]);
  return rstd;
}

/// A channel in runs of hw numbers, of which it has one in each example.
void by_runs(const BatchnormFwd::Args<float>& x, int64_t j) {
  const Tag d;
  const int64_t n = x.shape.n, hw = x.shape.hw, step = x.shape.c * hw;
  // There may be millions of runs of one position each: in float such a long sum leans to one side.
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += sum_of(d, x.x + j * hw + i * step, hw);
  const auto mean = float(sum / double(n * hw));
  for (int64_t i = 0; i < n; ++i) squares += squares_about(d, x.x + j * hw + i * step, hw, mean);
  const float rstd = finish(x, j, mean, float(squares));
  const V m = hn::Set(d, mean), scale = hn::Set(d, x.gamma[j] * rstd), shift = hn::Set(d, x.beta[j]);
  for (int64_t i = 0; i < n; ++i) {
    const float* run = x.x + j * hw + i * step;
    write_run(d, x.y + j * hw + i * step, hw, false, [run, m, scale, shift](const auto& load) HWY_ATTR {
      return hn::MulAdd(hn::Sub(load(run), m), scale, shift);
    });
  }
}

/// Channels [j, end).
void normalize(const BatchnormFwd::Args<float>& x, int64_t j, int64_t end) {
  for (; j < end; ++j) by_runs(x, j);
}
