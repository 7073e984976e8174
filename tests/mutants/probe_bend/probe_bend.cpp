#include "tests/mutants/probe_bend/probe_bend.h"

#include <cmath>

namespace klab {
namespace {

// Moves values off the kinks at 0 and 3, visibly: nothing is drawn within 1/32 of them.
void keep_off_kinks(const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    float& value = const_cast<float*>(x)[i];
    for (const float kink : {0.F, 3.F})
      if (std::abs(value - kink) < 0x1p-5F) value = kink + (value < kink ? -0x1p-5F : 0x1p-5F);
  }
}

}  // namespace

void ProbeBend::arrange(const Args<float>& x, Generator&) { keep_off_kinks(x.x, x.shape.n); }
void ProbeBendBwd::arrange(const Args<float>& x, Generator&) { keep_off_kinks(x.x, x.shape.n); }

void ProbeBend::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.y[i] = x.x[i] >= 0 ? std::exp(std::min(x.x[i], 3.0)) * x.w[i] : x.w[i];
    magnitude.y[i] = std::abs(x.y[i]);
  }
}

void ProbeBendBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const double slope = x.x[i] >= 0 && x.x[i] < 3 ? x.y[i] * x.d_y[i] : 0;
    magnitude.d_x[i] = std::abs(x.d_x[i]) + std::abs(slope);
    x.d_x[i] += slope;
  }
}

}  // namespace klab
