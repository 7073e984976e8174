#include "labs/radiance/run/lru.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>

namespace klab {
namespace {

/// Prefix sums of numbers that change (P. M. Fenwick, 1994).
class Sums {
 public:
  explicit Sums(size_t n) : tree_(n + 1) {}
  void add(size_t at, int value) {
    for (size_t k = at + 1; k < tree_.size(); k += k & (~k + 1)) tree_[k] += value;
  }
  int64_t before(size_t end) const {
    int64_t sum = 0;
    for (size_t k = end; k > 0; k -= k & (~k + 1)) sum += tree_[k];
    return sum;
  }

 private:
  std::vector<int32_t> tree_;
};

/// Opens a counter of this thread, user code only; returns -1 if it is not available.
int counter(uint32_t type, uint64_t config) {
  perf_event_attr attr{};
  attr.type = type;
  attr.size = sizeof attr;
  attr.config = config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return int(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL));
}

constexpr uint64_t cache_event(uint64_t cache, uint64_t result) {
  return cache | uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 | result << 16;
}

}  // namespace

std::vector<double> lru_hit_shares(std::span<const uint32_t> lines, std::span<const int64_t> capacities) {
  std::vector<int64_t> hits(capacities.size());
  std::unordered_map<uint32_t, size_t> last;
  Sums newest(lines.size());  // 1 at the last use of each line
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto [at, is_new] = last.try_emplace(lines[i], i);
    if (!is_new) {
      const int64_t since = newest.before(i) - newest.before(at->second + 1);  // other lines used since
      for (size_t c = 0; c < capacities.size(); ++c) hits[c] += since < capacities[c];
      newest.add(at->second, -1);
      at->second = i;
    }
    newest.add(i, 1);
  }
  std::vector<double> shares;
  for (const int64_t h : hits) shares.push_back(lines.empty() ? 0 : double(h) / double(lines.size()));
  return shares;
}

CacheCounts count_cache(const std::function<void()>& work) {
  CacheCounts counts;
  const int fds[] = {
      counter(PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_ACCESS)),
      counter(PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_MISS)),
      counter(PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_MISS))};
  if (fds[0] < 0 || fds[1] < 0) counts.refused = std::strerror(errno);
  for (const int fd : fds)
    if (fd >= 0) ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  work();
  int64_t* const into[] = {&counts.loads, &counts.l1_misses, &counts.last_misses};
  for (size_t k = 0; k < 3; ++k) {
    if (fds[k] < 0) continue;
    ioctl(fds[k], PERF_EVENT_IOC_DISABLE, 0);
    if (counts.refused.empty() && read(fds[k], into[k], sizeof(int64_t)) != ssize_t(sizeof(int64_t)))
      counts.refused = std::strerror(errno);
    close(fds[k]);
  }
  if (counts.refused.empty() && counts.loads == 0) counts.refused = "the processor counts none here";
  return counts;
}

}  // namespace klab
