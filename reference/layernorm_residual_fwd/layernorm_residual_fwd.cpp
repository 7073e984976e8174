#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"

#include "reference/layernorm_fwd/moments.h"
#include "reference/relations.h"

namespace klab {
namespace {

std::string sum_of_others(const LayernormResidualFwd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i)
    for (int64_t j = 0; j < x.shape.c; ++j) {
      const int64_t k = i * x.shape.c + j;
      const float want = x.x[k] + x.residual[k], got = x.sum[k];
      if (got == want || (std::isnan(got) && std::isnan(want))) continue;
      return value_text("sum", {i, j}, got) + ", " + value_text("x + residual", {i, j}, want);
    }
  return "";
}

const Related<LayernormResidualFwd, sum_of_others> kSums("sums are x + residual, rounded once to nearest");

}  // namespace

void LayernormResidualFwd::arrange(const Args<float>& x, Generator& random) {
  LayernormFwd::arrange({x.shape, x.x, x.gamma, x.beta, x.epsilon, nullptr, nullptr, nullptr}, random);
}

// Growth of T >= 16 roundings is at least 4 sqrt(T): half of |sum|/sqrt(T) leaves the sum room for two, and
// it has one. It errs by u·|sum|. For a deviation this lies within the room for the mean's error: at most
// u·(deviation + |mean|), below T·u·(deviation + size). Where x and residual cancel, their sum is exact or
// nearly so.
void LayernormResidualFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t all = x.shape.n * x.shape.c;
  for (int64_t i = 0; i < all; ++i) {
    x.sum[i] = x.x[i] + x.residual[i];
    magnitude.sum[i] = std::abs(x.sum[i]) / (2 * std::sqrt(terms(x.shape)));
  }
  LayernormFwd::reference(
      {x.shape, x.sum, x.gamma, x.beta, x.epsilon, x.y, x.mean, x.rstd},
      {x.shape, nullptr, nullptr, nullptr, nullptr, magnitude.y, magnitude.mean, magnitude.rstd});
}

}  // namespace klab
