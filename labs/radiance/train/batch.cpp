#include "labs/radiance/train/batch.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reference/composite_loss_bwd/composite_loss_bwd.h"

namespace klab {

double squares_of(std::span<const float> gradient) {
  const auto n = int64_t(gradient.size());
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += double(gradient[size_t(i)]) * double(gradient[size_t(i)]);
  return sum;
}

bool fuses_loss(const Plan& plan) { return plan.contains(std::string(CompositeLossBwd::name)); }

void take_terms(StepReport& report, const StepNumbers& after) {
  for (size_t k = 0; k < kLossTerms; ++k) report.terms[k] = double(after.term_loss[k]);
}

int64_t rays_after(const StepReport& report, int64_t wanted_samples, int64_t march_capacity,
                   int64_t most_rays) {
  const auto rays = double(report.rays);
  const auto rays_for = [&](double wanted, int64_t had) {
    return wanted * rays / double(std::max<int64_t>(1, had));
  };
  const double want = std::min({rays_for(double(wanted_samples), report.samples),
                                rays_for(0.9 * double(march_capacity), report.marched), 2.0 * rays});
  return std::clamp(int64_t(want), int64_t(16), most_rays);
}

double cosine_to(double last, double progress) {
  return last + (1 - last) * 0.5 * (1 + std::cos(M_PI * std::clamp(progress, 0.0, 1.0)));
}

double batch_psnr_of(const Memory& memory, const RayStep& step, int64_t whole) {
  const int64_t stride = step.rays;
  std::vector<float> colors(size_t(3 * stride)), targets(size_t(3 * stride));
  memory.read(colors.data(), step.color, colors.size() * sizeof(float));
  memory.read(targets.data(), step.target, targets.size() * sizeof(float));
  double sum = 0;
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t r = 0; r < whole; ++r) {
      const double d = double(colors[size_t(c * stride + r)]) - double(targets[size_t(c * stride + r)]);
      sum += d * d;
    }
  return -10 * std::log10(std::max(sum / double(std::max<int64_t>(1, 3 * whole)), 1e-12));
}

}  // namespace klab
