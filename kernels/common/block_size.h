// Block sizes chosen for a machine, for kernels whose threads do not need each other, so that any size
// computes the same.
//
// $KLAB_BLOCKS sets them, "ema.cuda.02_sixteen_bytes=128,axpy.cuda.01_naive=512"; klab tune --blocks finds
// them, and klab train applies them. They are an environment variable because it reaches kernels in every
// module.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace klab::cuda {

constexpr int kMostThreads = 1024;

/// Returns the threads of a block of this variant: the size in $KLAB_BLOCKS, else `usual`. Throws
/// std::runtime_error unless it is a multiple of 32 up to 1024.
inline int block_size(std::string_view variant, int usual) {
  const char* const all = std::getenv("KLAB_BLOCKS");
  if (all == nullptr) return usual;
  for (std::string_view left = all; !left.empty();) {
    const std::string_view one = left.substr(0, left.find(','));
    left.remove_prefix(one.size() < left.size() ? one.size() + 1 : left.size());
    if (one.size() <= variant.size() || !one.starts_with(variant) || one[variant.size()] != '=') continue;
    const std::string number(one.substr(variant.size() + 1));
    char* end = nullptr;
    const long threads = std::strtol(number.c_str(), &end, 10);
    if (number.empty() || *end != 0 || threads < 32 || threads > kMostThreads || threads % 32 != 0)
      throw std::runtime_error("KLAB_BLOCKS: " + std::string(variant) + "=" + number.substr(0, 20) +
                               ": must be a multiple of 32 up to 1024");
    return int(threads);
  }
  return usual;
}

}  // namespace klab::cuda
