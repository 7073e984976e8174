#include "reference/adam/adam.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {
namespace {

using Args = Adam::Args<float>;
using Uniform = std::uniform_real_distribution<double>;

/// 10^(from .. to), evenly in the exponent.
float power_of_ten(double from, double to, Generator& random) {
  return float(std::pow(10.0, Uniform(from, to)(random)));
}

void draw_hyperparameters(float* hyper, Generator& random) {
  constexpr float first[] = {0.5F, 0.9F, 0.95F, 0.99F, 0.9999F},
                  second[] = {0.5F, 0.95F, 0.99F, 0.999F, 0.9999F};
  hyper[Adam::rate] = power_of_ten(-5, 0, random);
  hyper[Adam::beta1] = first[random() % 5];
  hyper[Adam::beta2] = second[random() % 5];
  hyper[Adam::epsilon] = random() % 2 ? power_of_ten(-3, 0, random) : power_of_ten(-15, -3, random);
  hyper[Adam::l2] = random() % 4 == 0 ? 0.0F : power_of_ten(-7, -1, random);
}

// Step counts to a million; groups of zeros regardless of zero_percent, zeros of either sign; groups with one
// gradient that is not zero, at any place in them; groups whose gradients add up to zero though none of them
// is.
void draw_widely(const Args& x, Generator& random) {
  draw_hyperparameters(const_cast<float*>(x.hyper), random);
  auto* gradient = const_cast<float*>(x.gradient);
  Uniform unit(0, 1);
  // Where groups are few, they are long: one gradient lies in one of many blocks' parts.
  const bool few = Adam::groups(x.shape) <= 4;
  const double zeros = (few ? 0.25 : 1) * unit(random), lonely = few ? 0.5 : 0.2;
  for (int64_t j = 0; j < Adam::groups(x.shape); ++j) {
    x.steps[j] = random() % 4 == 0 ? int32_t(random() % 3) : int32_t(power_of_ten(0, 6, random));
    const double what = unit(random);
    const int64_t begin = j * x.shape.group, end = std::min(x.shape.n, begin + x.shape.group);
    if (what >= zeros + lonely) {
      if (random() % 4 == 0)
        for (int64_t i = begin; i + 1 < end && (end - begin) % 2 == 0; i += 2) gradient[i + 1] = -gradient[i];
      continue;
    }
    const int64_t kept = begin + int64_t(random() % uint64_t(end - begin));
    for (int64_t i = begin; i < end; ++i)
      if (what < zeros || i != kept) gradient[i] = random() % 2 ? 0.0F : -0.0F;
  }
}

}  // namespace

void Adam::arrange(const Args<float>& x, Generator& random) {
  if (random.widely) return draw_widely(x, random);
  auto* hyper = const_cast<float*>(x.hyper);
  hyper[rate] = 1e-2F;
  hyper[beta1] = 0.9F;
  hyper[beta2] = 0.99F;
  hyper[epsilon] = 1e-15F;
  hyper[l2] = 1e-6F;
  auto* gradient = const_cast<float*>(x.gradient);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int64_t j = 0; j < groups(x.shape); ++j) {
    x.steps[j] = int32_t(2000 * std::pow(unit(random), 4));
    if (unit(random) * 100 >= double(x.shape.zero_percent)) continue;
    for (int64_t i = j * x.shape.group, end = std::min(x.shape.n, i + x.shape.group); i < end; ++i)
      gradient[i] = 0;
  }
}

// The bound, in units of 16u. With G = |gradient| + l2·|param|, g errs by 2u·G.
//   m      three roundings and g's: 5u of M = beta1·|m| + (1-beta1)·G. 1-beta is exact in float for beta >= 0.5.
//   v      7u of V = beta2·v + (1-beta2)·G^2, and where g^2 underflows, the smallest denormal.
//   step   D = rate·M/(1-beta1^step)/denominator bounds the numerator's 5u. The corrections may err by 4u each,
//          two divisions, two products, a sum and a root by u each: 10u. Through the root, v's error is
//          3.5u·V/v of sqrt(v), and of the denominator as much of it as the root is; an underflow a gives at
//          most sqrt(a) under the root, for any v.
//          m and rate·m may be denormal: 4 and 1 of the smallest, over corrections and epsilon, are `lost`.
//   param  its own rounding: u of what it was, an eighth of 16u at most, and of D.
void Adam::reference(const Args<double>& x, const Args<double>& magnitude) {
  const double* h = x.hyper;
  for (int64_t j = 0; j < groups(x.shape); ++j) {
    const int64_t begin = j * x.shape.group, end = std::min(x.shape.n, begin + x.shape.group);
    if (std::all_of(x.gradient + begin, x.gradient + end, [](double g) { return g == 0; })) continue;
    ++x.steps[j];
    const double correct1 = 1 - std::pow(h[beta1], x.steps[j]), correct2 = 1 - std::pow(h[beta2], x.steps[j]);
    for (int64_t i = begin; i < end; ++i) {
      const double g = x.gradient[i] + h[l2] * x.param[i];
      const double G = std::abs(x.gradient[i]) + h[l2] * std::abs(x.param[i]);
      const double M = h[beta1] * std::abs(x.m[i]) + (1 - h[beta1]) * G;
      const double V = h[beta2] * x.v[i] + (1 - h[beta2]) * G * G;
      x.m[i] = h[beta1] * x.m[i] + (1 - h[beta1]) * g;
      x.v[i] = h[beta2] * x.v[i] + (1 - h[beta2]) * g * g;
      const double root = std::sqrt(x.v[i] / correct2), denominator = root + h[epsilon];
      const double D = h[rate] * M / correct1 / denominator;
      const double through_root = x.v[i] > 0 ? V / x.v[i] * root / denominator : 0;
      const double underflow = std::sqrt(0x1p-149 / correct2) / denominator / 0x1p-24;
      const double lost = (4 * h[rate] + 1) * 0x1p-149 / correct1 / denominator / (terms(x.shape) * 0x1p-24);
      magnitude.m[i] = M;
      magnitude.v[i] = V;
      magnitude.param[i] =
          std::abs(x.param[i]) / 8 + D * (1 + through_root + std::min(underflow, 1.0)) + lost;
      x.param[i] -= h[rate] * (x.m[i] / correct1) / denominator;
    }
  }
}

}  // namespace klab
