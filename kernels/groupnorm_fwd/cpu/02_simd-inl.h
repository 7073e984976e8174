// The part of groupnorm_fwd.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Groups [i, end) of all examples.
void normalize(const GroupnormFwd::Args<float>& x, int64_t i, int64_t end) {
  const Tag d;
  const int64_t groups = x.shape.groups, each = x.shape.each, hw = x.shape.hw, N = each * hw;
  for (; i < end; ++i) {
    const float* set = x.x + i * N;
    const float mean = sum_of(d, set, N) / float(N);
    const float rstd = 1 / std::sqrt(squares_about(d, set, N, mean) / float(N) + *x.epsilon);
    const float *gamma = x.gamma + i % groups * each, *beta = x.beta + i % groups * each;
    const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
    if (hw == 1)  // every number is its own channel
      write_run(d, x.y + i * N, N, false, [set, gamma, beta, m, r](const auto& load) HWY_ATTR {
        return hn::MulAdd(load(gamma), hn::Mul(hn::Sub(load(set), m), r), load(beta));
      });
    for (int64_t e = 0; e < each && hw > 1; ++e) {
      const float* in = set + e * hw;
      const V scale = hn::Set(d, gamma[e] * rstd), shift = hn::Set(d, beta[e]);
      write_run(d, x.y + i * N + e * hw, hw, false, [in, m, scale, shift](const auto& load) HWY_ATTR {
        return hn::MulAdd(hn::Sub(load(in), m), scale, shift);
      });
    }
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}
