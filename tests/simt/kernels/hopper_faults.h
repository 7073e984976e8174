// What is wrong with a kernel of hopper.cu.
#pragma once

namespace klab::faults {

enum class Fault {
  none,
  wrong_parity,
  too_few_bytes,
  too_many_bytes,
  no_wait_for_empty,
  no_wait_for_full,
  releases_early,
  never_releases,
  releases_twice,
  two_producers,
  wrong_swizzle,
  wrong_stride,
  no_fence,
  no_wait_group,
  sums_written,
  three_warps,
  count
};
enum class StoreFault { none, no_fence, no_barrier, no_wait, no_wait_at_end };
enum class NamedFault { none, no_wait_for_full, no_wait_for_empty, never_empty, other_count, count };

}  // namespace klab::faults
