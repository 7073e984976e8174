#include "labs/radiance/train/batch_share.h"

#include <algorithm>

namespace klab {
namespace {

constexpr int64_t kTeam = 100000;  // floats, from which on threads pay

}  // namespace

uint64_t draws_of(int64_t step, int64_t part) { return uint64_t(step) | uint64_t(part) << 48; }

PartSums::PartSums(const BatchShare& share, std::span<const int64_t> sizes) {
  if (share.own == 1) return;
  for (const int64_t n : sizes) sums_.emplace_back(n);
}

void PartSums::begin() {
  for (const Array<float>& sum : sums_) std::fill(sum.begin(), sum.end(), 0.0F);
}

void PartSums::keep(std::span<const std::span<float>> gradients) {
  for (size_t k = 0; k < sums_.size(); ++k) {
    float *const sum = sums_[k].data(), *const g = gradients[k].data();
    const int64_t n = sums_[k].size();
#pragma omp parallel for schedule(static) if (n > kTeam)
    for (int64_t i = 0; i < n; ++i) {
      sum[i] += g[i];
      g[i] = 0;
    }
  }
}

void PartSums::finish(const BatchShare& share, std::span<const std::span<float>> gradients,
                      std::span<double> numbers) {
  std::vector<std::span<float>> own(gradients.begin(), gradients.end());
  for (size_t k = 0; k < sums_.size(); ++k) own[k] = {sums_[k].data(), size_t(sums_[k].size())};
  if (share.sum) share.sum(own, numbers);
  const float scale = 1.0F / float(share.parts);
  for (size_t k = 0; k < own.size(); ++k) {
    const float* const sum = own[k].data();
    float* const g = gradients[k].data();
    const auto n = int64_t(own[k].size());
#pragma omp parallel for schedule(static) if (n > kTeam)
    for (int64_t i = 0; i < n; ++i) g[i] = scale * sum[i];
  }
}

}  // namespace klab
