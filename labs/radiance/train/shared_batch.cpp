#include "labs/radiance/train/shared_batch.h"

#include <algorithm>
#include <array>

namespace klab {

SharedBatch::SharedBatch(const BatchShare& share, std::vector<LearnedArray> learned)
    : share_(&share), learned_(std::move(learned)) {
  std::vector<int64_t> sizes;
  for (const LearnedArray& l : learned_) sizes.push_back(int64_t(l.host_gradient.size()));
  sums_ = PartSums(share, sizes);
}

std::vector<const LearnedArray*> SharedBatch::tables() const {
  std::vector<const LearnedArray*> list;
  for (const LearnedArray& l : learned_)
    if (l.group > 0) list.push_back(&l);
  return list;
}

StepPart SharedBatch::part() const {
  std::vector<int64_t> sizes;
  for (const LearnedArray* l : tables()) sizes.push_back(int64_t(l->host_parameters.size()));
  return part_of(*share_, sizes);
}

// With several own parts their sums are in the host's memory.
bool SharedBatch::on_device(const Memory& memory) const {
  return share_->on_device.mean && !memory.backend().in_host_memory && share_->own == 1;
}

StepReport SharedBatch::mean_of_parts(Memory& memory, Profile& profile,
                                      const std::function<StepReport(int64_t)>& loss) {
  // For a backend with memory of its own, use the host's copies.
  const bool elsewhere = !memory.backend().in_host_memory, device = on_device(memory);
  std::vector<SharedGradient> gradients;
  for (const LearnedArray& l : learned_) gradients.push_back({l.host_gradient, l.group});
  const auto push = [&] {
    for (const LearnedArray& l : learned_)
      memory.write(l.gradient, l.host_gradient.data(), l.host_gradient.size_bytes());
  };
  sums_.begin();
  std::array<double, 5 + kLossTerms> sums = {};
  for (int64_t i = 0; i < share_->own; ++i) {
    const StepReport r = loss(share_->first + i);
    const double numbers[] = {r.loss, double(r.rays), double(r.samples), double(r.marched),
                              r.finite ? 0.0 : 1.0};
    for (size_t k = 0; k < std::size(numbers); ++k) sums[k] += numbers[k];
    for (size_t k = 0; k < kLossTerms; ++k) sums[5 + k] += r.terms[k];
    if (device) continue;
    for (const LearnedArray& l : learned_) memory.pull(l.gradient);
    sums_.keep(gradients);
    if (elsewhere && share_->own > 1) push();
  }
  profile.time("sum over ranks", [&] {
    if (device) return sum_on_device(memory, sums);
    sums_.finish(*share_, gradients, sums);
    if (elsewhere) push();
  });
  StepReport report;
  report.loss = sums[0] / double(share_->parts);
  for (size_t k = 0; k < kLossTerms; ++k) report.terms[k] = sums[5 + k] / double(share_->parts);
  report.rays = int64_t(sums[1]);
  report.samples = int64_t(sums[2]);
  report.marched = int64_t(sums[3]);
  report.finite = sums[4] == 0;  // in all parts everywhere: all trainers skip the step together
  return report;
}

std::vector<Stretch> SharedBatch::parts_of(size_t table) const {
  std::vector<Stretch> parts;
  for (int64_t r = 0; r < share_->ranks; ++r) parts.push_back(share_->part_of_rank(r, table, size_of(table)));
  return parts;
}

void SharedBatch::sum_on_device(Memory& memory, std::span<double> numbers) {
  memory.wait();
  size_t table = 0;
  for (const LearnedArray& l : learned_) {
    auto* const values = static_cast<float*>(l.gradient.address());
    const auto all = int64_t(l.host_gradient.size());
    if (l.group == 0 || !share_->complete) {
      share_->on_device.mean(values, all);
    } else {
      const std::vector<Stretch> parts = parts_of(table);
      share_->on_device.mean_of_parts(values, parts);
      const Stretch own = parts[size_t(share_->rank)];
      memory.backend().fill(values, 0, size_t(own.begin) * sizeof(float));
      memory.backend().fill(values + own.end, 0, size_t(all - own.end) * sizeof(float));
    }
    table += l.group > 0;
  }
  share_->sum({}, numbers, 1.0F);
}

void SharedBatch::complete(Memory& memory, Profile& profile) {
  if (!share_->complete) return;
  memory.wait();
  const bool elsewhere = !memory.backend().in_host_memory, device = on_device(memory);
  profile.time("parameters of ranks", [&] {
    const std::vector<const LearnedArray*> all = tables();
    for (size_t k = 0; k < all.size(); ++k) {
      if (device) {
        share_->on_device.gather_parts(static_cast<float*>(all[k]->parameters.address()), parts_of(k));
        continue;
      }
      memory.pull(all[k]->parameters);
      share_->complete(k, all[k]->host_parameters);
      if (elsewhere)
        memory.write(all[k]->parameters, all[k]->host_parameters.data(),
                     all[k]->host_parameters.size_bytes());
    }
  });
}

void SharedBatch::share_cells(std::span<const int32_t> chosen, int64_t chunk, std::span<float> values) const {
  const auto count = int64_t(chosen.size());
  const int64_t turn = share_->ranks * chunk;
  const auto each_of = [&](int64_t rank, const auto& use) {
    for (int64_t first = rank * chunk; first < count; first += turn)
      for (int64_t i = first, end = std::min<int64_t>(count, first + chunk); i < end; ++i)
        use(chosen[size_t(i)]);
  };
  std::vector<int64_t> bytes;
  for (int64_t r = 0; r < share_->ranks; ++r) {
    int64_t cells = 0;
    for (int64_t first = r * chunk; first < count; first += turn) cells += std::min(chunk, count - first);
    bytes.push_back(cells * int64_t(sizeof(float)));
  }
  std::vector<float> mine, all(static_cast<size_t>(count));
  mine.reserve(size_t(bytes[size_t(share_->rank)]) / sizeof(float));
  each_of(share_->rank, [&](int32_t cell) { mine.push_back(values[size_t(cell)]); });
  share_->to_all(mine.data(), all.data(), bytes);
  const float* next = all.data();
  for (int64_t r = 0; r < share_->ranks; ++r)
    each_of(r, [&](int32_t cell) { values[size_t(cell)] = *next++; });
}

}  // namespace klab
