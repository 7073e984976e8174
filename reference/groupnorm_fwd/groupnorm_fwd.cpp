#include "reference/groupnorm_fwd/groupnorm_fwd.h"

#include "reference/layernorm_fwd/moments.h"
#include "reference/layernorm_fwd/rows.h"

namespace klab {

void GroupnormFwd::arrange(const Args<float>& x, Generator& random) {
  const int64_t N = x.shape.each * x.shape.hw;
  *const_cast<float*>(x.epsilon) = normalization::draw_epsilon(random);  // arrange() owns the inputs
  for (int64_t i = 0; i < x.shape.n * x.shape.groups; ++i)
    normalization::make_hard(
        const_cast<float*>(x.x) + i * N, N, [](int64_t k) { return k; }, terms(x.shape), random);
}

void GroupnormFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, groups, each, hw] = x.shape;
  const int64_t N = each * hw;
  const double T = terms(x.shape), epsilon = *x.epsilon;
  for (int64_t i = 0; i < n * groups; ++i) {
    const double* set = x.x + i * N;
    const normalization::Moments m(N, [&](int64_t k) { return set[k]; });
    x.mean[i] = m.mean;
    x.rstd[i] = m.rstd(epsilon);
    magnitude.mean[i] = m.size;
    magnitude.rstd[i] = x.rstd[i] * m.rstd_size(T, epsilon);
    for (int64_t k = 0; k < N; ++k) {
      const int64_t channel = i % groups * each + k / hw;
      x.y[i * N + k] = x.gamma[channel] * (set[k] - m.mean) * x.rstd[i] + x.beta[channel];
      magnitude.y[i * N + k] = m.output_size(set[k], x.gamma[channel], x.beta[channel], T, epsilon);
    }
  }
}

}  // namespace klab
