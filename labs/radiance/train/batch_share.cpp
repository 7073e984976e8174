#include "labs/radiance/train/batch_share.h"

#include <algorithm>

namespace klab {
namespace {

constexpr int64_t kTeam = 100000;  // floats from which on threads pay

}  // namespace

uint64_t draws_of(int64_t step, int64_t part) { return uint64_t(step) | uint64_t(part) << 48; }

StepPart part_of(const BatchShare& share, std::span<const int64_t> tables) {
  StepPart part;
  if (share.to_all) {
    part.rank = share.rank;
    part.ranks = share.ranks;
  }
  for (size_t k = 0; share.part_of_rank && k < tables.size(); ++k)
    part.tables.push_back(share.part_of_rank(share.rank, k, tables[k]));
  return part;
}

PartSums::PartSums(const BatchShare& share, std::span<const int64_t> sizes) {
  if (share.own == 1) return;
  for (const int64_t n : sizes) sums_.emplace_back(n);
}

void PartSums::begin() {
  for (const Array<float>& sum : sums_) std::fill(sum.begin(), sum.end(), 0.0F);
}

void PartSums::keep(std::span<const SharedGradient> gradients) {
  for (size_t k = 0; k < sums_.size(); ++k) {
    float *const sum = sums_[k].data(), *const g = gradients[k].values.data();
    const int64_t n = sums_[k].size();
#pragma omp parallel for schedule(static) if (n > kTeam)
    for (int64_t i = 0; i < n; ++i) {
      sum[i] += g[i];
      g[i] = 0;
    }
  }
}

void PartSums::finish(const BatchShare& share, std::span<const SharedGradient> gradients,
                      std::span<double> numbers) {
  std::vector<SharedGradient> own(gradients.begin(), gradients.end());
  for (size_t k = 0; k < sums_.size(); ++k) own[k].values = {sums_[k].data(), size_t(sums_[k].size())};
  const float scale = 1.0F / float(share.parts);
  if (share.sum) share.sum(own, numbers, scale);
  const float left = share.sum ? 1.0F : scale;
  for (size_t k = 0; k < own.size(); ++k) {
    const float* const sum = own[k].values.data();
    float* const g = gradients[k].values.data();
    if (sum == g && left == 1.0F) continue;
    const auto n = int64_t(own[k].values.size());
#pragma omp parallel for schedule(static) if (n > kTeam)
    for (int64_t i = 0; i < n; ++i) g[i] = left * sum[i];
  }
}

}  // namespace klab
