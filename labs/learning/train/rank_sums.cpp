#include "labs/learning/train/rank_sums.h"

#include <algorithm>

namespace klab::learning {

RankSums::RankSums(Carrier carrier)
    : carrier_(std::move(carrier)), exchange_(Exchange::Way::sharded, carrier_, 1) {}

void RankSums::sum(Memory& memory, const Handle<float>& values, int64_t n) {
  if (size() == 1) return;
  if (memory.backend().in_host_memory) {
    memory.wait();
    return sum({static_cast<float*>(values), size_t(n)});
  }
  host_.resize(size_t(n));
  memory.wait();
  memory.read(host_.data(), values, size_t(n) * sizeof(float));
  sum(host_);
  memory.write(values, host_.data(), size_t(n) * sizeof(float));
}

void RankSums::sum(std::span<float> values, float scale) {
  if (size() > 1) exchange_.sum_small(values, scale);
}

std::vector<double> RankSums::gather(std::span<const double> mine) {
  std::vector<double> all(mine.size() * size_t(size()));
  if (size() == 1) {
    std::ranges::copy(mine, all.begin());
    return all;
  }
  const auto bytes = int64_t(mine.size_bytes());
  std::vector<Piece> to, from;
  for (int r = 0; r < size(); ++r) {
    to.push_back({0, bytes});
    from.push_back({r * bytes, bytes});
  }
  carrier_.all_to_all(mine.data(), to, all.data(), from);
  return all;
}

std::vector<float> RankSums::to_first(std::span<const float> mine, std::span<const int64_t> counts) {
  constexpr int64_t kFloat = sizeof(float);
  std::vector<Piece> to(counts.size()), from(counts.size());
  int64_t all = 0;
  for (size_t r = 0; r < counts.size(); ++r) {
    if (first()) from[r] = {all * kFloat, counts[r] * kFloat};
    all += counts[r];
  }
  to[0] = {0, int64_t(mine.size_bytes())};
  std::vector<float> values(first() ? size_t(all) : 0);
  if (size() == 1)
    std::ranges::copy(mine, values.begin());
  else
    carrier_.all_to_all(mine.data(), to, values.data(), from);
  return values;
}

}  // namespace klab::learning
