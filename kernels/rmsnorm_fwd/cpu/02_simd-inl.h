// The part of rmsnorm_fwd.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end).
void normalize(const RmsnormFwd::Args<float>& x, int64_t i, int64_t end) {
  const Tag d;
  const int64_t c = x.shape.c;
  const float* gamma = x.gamma;
  for (; i < end; ++i) {
    const float* row = x.x + i * c;
    const float squares = sum_run(d, c, [row](const auto& load, V sum) HWY_ATTR {
      const V v = load(row);
      return hn::MulAdd(v, v, sum);
    });
    const float rrms = 1 / std::sqrt(squares / float(c) + *x.epsilon);
    const V r = hn::Set(d, rrms);
    write_run(d, x.y + i * c, c, false, [row, gamma, r](const auto& load) HWY_ATTR {
      return hn::Mul(load(gamma), hn::Mul(load(row), r));
    });
    x.rrms[i] = rrms;
  }
}
