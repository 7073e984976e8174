#include "labs/radiance/ranks/share_processor.h"

#include <omp.h>

#include <algorithm>

namespace klab {

void share_processor(const Ranks& ranks, int threads_given) {
  if (ranks.size() > 1 && threads_given == 0)
    omp_set_num_threads(std::max(1, omp_get_max_threads() / ranks.size()));
}

}  // namespace klab
