// OpenMP's number of threads for a while.
#pragma once

#include <omp.h>

namespace klab {

/// Sets the number of threads of parallel regions, unless it is 0, and puts back what it was before.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    if (threads > 0) omp_set_num_threads(threads);
  }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace klab
