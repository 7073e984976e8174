#include "labs/radiance/train/adaptive_table.h"

#include <algorithm>
#include <numeric>

#include "labs/radiance/field/table.h"

namespace klab {
namespace {

int64_t sum_of(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
}

/// Returns for each entry of the new levels the old one that it comes from, in storage order.
std::vector<int64_t> sources(const std::vector<int64_t>& from, const std::vector<int64_t>& to,
                             const int32_t* used) {
  std::vector<int64_t> source(size_t(sum_of(to)));
  int64_t old = 0, now = 0;
  for (size_t l = 0; l < from.size(); ++l) {
    for (int64_t e = 0; e < to[l]; ++e)
      source[size_t(now + e)] = old + (to[l] > from[l] ? int64_t(table_origin(from[l], e)) : e);
    for (int64_t e = to[l]; e < from[l]; ++e) {
      int64_t& kept = source[size_t(now + int64_t(table_origin(to[l], e)))];
      if (used[old + e] > used[kept]) kept = old + e;
    }
    old += from[l];
    now += to[l];
  }
  return source;
}

template <class T>
void gather(T* values, int64_t each, const std::vector<int64_t>& source, int64_t before) {
  std::vector<T> next(size_t(std::max(before, int64_t(source.size())) * each));
  for (size_t e = 0; e < source.size(); ++e)
    std::copy_n(values + source[e] * each, each, next.data() + int64_t(e) * each);
  std::copy(next.begin(), next.end(), values);
}

}  // namespace

void resize_levels(const TableEntries& entries, const std::vector<int64_t>& from,
                   const std::vector<int64_t>& to, const int32_t* used) {
  const std::vector<int64_t> source = sources(from, to, used);
  const int64_t before = sum_of(from);
  for (float* values : entries.values) gather(values, entries.features, source, before);
  for (int32_t* counts : entries.counts) gather(counts, 1, source, before);
}

AdaptiveTable::AdaptiveTable(const Config& config, int cascades)
    : c_(config),
      least_(smallest_table_sizes(config, cascades)),
      most_(largest_table_sizes(config, cascades)),
      room_(table_room(config, cascades)),
      seen_(room_),
      last_(room_) {}

std::vector<double> AdaptiveTable::in_use(const std::vector<int64_t>& sizes, const int32_t* steps) const {
  std::vector<double> shares;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    int64_t moved = 0;
    for (int64_t e = first; e < first + size; ++e) moved += steps[e] != seen_[e];
    shares.push_back(double(moved) / double(size));
    first += size;
  }
  return shares;
}

std::vector<size_t> AdaptiveTable::order(const TableEntries& entries,
                                         const std::vector<int64_t>& sizes) const {
  std::vector<size_t> levels(sizes.size());
  std::iota(levels.begin(), levels.end(), size_t(0));
  if (c_.table_order == "coarse" || entries.squares == nullptr) return levels;
  std::vector<double> pull;  // mean square of an entry's gradient, by level
  const float* squares = entries.squares;
  for (const int64_t size : sizes) {
    const int64_t numbers = size * entries.features;
    pull.push_back(std::accumulate(squares, squares + numbers, 0.0) / double(std::max<int64_t>(1, numbers)));
    squares += numbers;
  }
  std::ranges::stable_sort(levels, [&](size_t a, size_t b) { return pull[a] > pull[b]; });
  return levels;
}

std::vector<int64_t> AdaptiveTable::wanted(const std::vector<int64_t>& sizes,
                                           const std::vector<double>& in_use,
                                           const std::vector<size_t>& order) const {
  std::vector<int64_t> next = sizes;
  // Shrink levels first, to make room for those that grow.
  for (size_t l = 0; l < sizes.size(); ++l) {
    const int64_t less = (2 * sizes[l] / 3 + 7) / 8 * 8;
    if (in_use[l] < c_.table_sparse && less >= least_[l]) next[l] = less;
  }
  int64_t left = room_ - sum_of(next);
  for (const size_t l : order) {
    if (in_use[l] <= c_.table_crowded) continue;
    const int64_t more = std::min(most_[l], sizes[l] + sizes[l] / 2) / 8 * 8;
    if (more <= sizes[l] || more - sizes[l] > left) continue;
    left -= more - sizes[l];
    next[l] = more;
  }
  return next;
}

void AdaptiveTable::note(const TableEntries& entries, int64_t step, const std::vector<int64_t>& sizes) {
  const int32_t* steps = entries.counts.front();
  for (int64_t e = 0; e < sum_of(sizes); ++e)
    if (steps[e] != seen_[e]) {
      seen_[e] = steps[e];
      last_[e] = int32_t(step);
    }
}

TableChange AdaptiveTable::adapt(const TableEntries& entries, int64_t step, std::vector<int64_t>& sizes) {
  const int32_t* steps = entries.counts.front();
  const std::vector<double> shares = in_use(sizes, steps);
  const int64_t before = sum_of(sizes);
  note(entries, step, sizes);
  TableChange change;
  change.recycled = recycle(entries, before, step);
  const std::vector<int64_t> next = wanted(sizes, shares, order(entries, sizes));
  for (size_t l = 0; l < sizes.size(); ++l) {
    change.grown += next[l] > sizes[l];
    change.shrunk += next[l] < sizes[l];
  }
  if (next != sizes) {
    TableEntries all = entries;
    all.counts.push_back(last_.data());
    const std::vector<int32_t> used(last_.begin(), last_.begin() + before);
    resize_levels(all, sizes, next, used.data());
    sizes = next;
  }
  std::copy_n(steps, sum_of(sizes), seen_.data());
  return change;
}

// Resets entries that hold values for space that became empty, or from before a neighbor took the entry over.
// Moments are reset, too, so that the next user of the entry makes the large first steps of a new one.
int64_t AdaptiveTable::recycle(const TableEntries& entries, int64_t in_all, int64_t step) {
  int64_t recycled = 0;
  for (int64_t e = 0; e < in_all; ++e) {
    if (step - last_[e] < c_.table_idle) continue;
    last_[e] = int32_t(step);
    recycled += entries.counts.front()[e] > 0;
    for (float* values : entries.values) std::fill_n(values + e * entries.features, entries.features, 0.0F);
    for (int32_t* counts : entries.counts) counts[e] = 0;
  }
  return recycled;
}

std::vector<TensorView> AdaptiveTable::state() const {
  return {{"table.seen", "I32", {room_}, seen_.data()}, {"table.last", "I32", {room_}, last_.data()}};
}

}  // namespace klab
