// The part of layernorm_residual_fwd.cpu.02_fused that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end).
void normalize(const LayernormResidualFwd::Args<float>& x, int64_t i, int64_t end) {
  const Tag d;
  const int64_t c = x.shape.c;
  const float *gamma = x.gamma, *beta = x.beta;
  for (; i < end; ++i) {
    const float *in = x.x + i * c, *residual = x.residual + i * c;
    float* row = x.sum + i * c;
    write_run(d, row, c, false,
              [in, residual](const auto& load) HWY_ATTR { return hn::Add(load(in), load(residual)); });
    const float mean = sum_of(d, row, c) / float(c);
    const float rstd = 1 / std::sqrt(squares_about(d, row, c, mean) / float(c) + *x.epsilon);
    const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
    write_run(d, x.y + i * c, c, false, [row, gamma, beta, m, r](const auto& load) HWY_ATTR {
      return hn::MulAdd(load(gamma), hn::Mul(hn::Sub(load(row), m), r), load(beta));
    });
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}
