#include "reference/layernorm_fwd/layernorm_fwd.h"

#include "reference/layernorm_fwd/moments.h"
#include "reference/layernorm_fwd/rows.h"

namespace klab {

void LayernormFwd::arrange(const Args<float>& x, Generator& random) {
  const int64_t c = x.shape.c;
  *const_cast<float*>(x.epsilon) = normalization::draw_epsilon(random);  // arrange() owns the inputs
  for (int64_t i = 0; i < x.shape.n; ++i)
    normalization::make_hard(
        const_cast<float*>(x.x) + i * c, c, [](int64_t j) { return j; }, terms(x.shape), random);
}

void LayernormFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t c = x.shape.c;
  const double T = terms(x.shape), epsilon = *x.epsilon;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const double* row = x.x + i * c;
    const normalization::Moments m(c, [&](int64_t j) { return row[j]; });
    x.mean[i] = m.mean;
    x.rstd[i] = m.rstd(epsilon);
    magnitude.mean[i] = m.size;
    magnitude.rstd[i] = x.rstd[i] * m.rstd_size(T, epsilon);
    for (int64_t j = 0; j < c; ++j) {
      x.y[i * c + j] = x.gamma[j] * (row[j] - m.mean) * x.rstd[i] + x.beta[j];
      magnitude.y[i * c + j] = m.output_size(row[j], x.gamma[j], x.beta[j], T, epsilon);
    }
  }
}

}  // namespace klab
