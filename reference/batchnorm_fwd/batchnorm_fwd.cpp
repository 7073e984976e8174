#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#include "reference/batchnorm_fwd/channel.h"
#include "reference/layernorm_fwd/moments.h"
#include "reference/layernorm_fwd/rows.h"

namespace klab {

void BatchnormFwd::arrange(const Args<float>& x, Generator& random) {
  *const_cast<float*>(x.epsilon) = normalization::draw_epsilon(random);  // arrange() owns the inputs
  for (int64_t j = 0; j < x.shape.c; ++j)
    normalization::make_hard(const_cast<float*>(x.x), count(x.shape),
                             normalization::Channel{j, x.shape.c, x.shape.hw}, terms(x.shape), random);
}

// Errors of mean and variance are those of Moments; the running averages take in a share of them, and add
// three roundings of their own terms.
void BatchnormFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t N = count(x.shape);
  const double T = terms(x.shape), epsilon = *x.epsilon, momentum = *x.momentum;
  const double unbiased = N > 1 ? double(N) / double(N - 1) : 1;
  for (int64_t j = 0; j < x.shape.c; ++j) {
    const normalization::Channel at{j, x.shape.c, x.shape.hw};
    const normalization::Moments m(N, [&](int64_t k) { return x.x[at(k)]; });
    x.mean[j] = m.mean;
    x.rstd[j] = m.rstd(epsilon);
    magnitude.mean[j] = m.size;
    magnitude.rstd[j] = x.rstd[j] * m.rstd_size(T, epsilon);
    magnitude.running_mean[j] = std::abs(x.running_mean[j]) + momentum * m.size;
    magnitude.running_var[j] = x.running_var[j] + momentum * unbiased * m.variance_size(T);
    x.running_mean[j] += momentum * (m.mean - x.running_mean[j]);
    x.running_var[j] += momentum * (unbiased * m.variance - x.running_var[j]);
    for (int64_t k = 0; k < N; ++k) {
      const double value = x.x[at(k)];
      x.y[at(k)] = x.gamma[j] * (value - m.mean) * x.rstd[j] + x.beta[j];
      magnitude.y[at(k)] = m.output_size(value, x.gamma[j], x.beta[j], T, epsilon);
    }
  }
}

}  // namespace klab
