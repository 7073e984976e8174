// Work handed to threads in shares that get smaller, for loops that wait for memory.
//
// Memory does not serve all cores alike. With equal parts the core that is served better ends first, and its
// bandwidth is unused afterwards. Works like schedule(guided) of OpenMP, but a thread gets a range, not one
// iteration after the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace klab {

/// Units [0, total), each given to one thread once.
class Shares {
 public:
  /// `least`: units of the smallest shares, at least 1.
  Shares(int64_t total, int64_t least, int64_t threads) : total_(total), least_(least), parts_(2 * threads) {}

  /// Takes the next share, [begin, end): an even part, for each thread, of half of the rest, or the minimum.
  /// Returns false if nothing is left. Any thread may call it at any time.
  bool take(int64_t& begin, int64_t& end) {
    begin = next_.load(std::memory_order_relaxed);
    do {
      if (begin >= total_) return false;
      end = std::min(total_, begin + std::max(least_, (total_ - begin) / parts_));
    } while (!next_.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    return true;
  }

 private:
  int64_t total_, least_, parts_;
  std::atomic<int64_t> next_{0};
};

}  // namespace klab
