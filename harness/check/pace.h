// What a CUDA variant would cost the host executor at a large shape.
#pragma once

#include <cstdint>
#include <span>

#include "harness/core/lab.h"

namespace klab {

/// Work of the host executor (simt::Session::work()) at one size.
struct WorkAtSize {
  double size = 0, work = 0;
};

/// Returns the work at `size`, extended from work measured at smaller sizes in ascending order: the last measurement plus the
/// slope between the last two, so that what does not depend on the size counts once. Work that has grown faster than the size
/// between the two goes on growing by the same power. One measurement alone is taken for proportional to the size; 0 without any.
double work_beyond(std::span<const WorkAtSize> measured, double size);

struct HostWork {
  double expected =
      0;  // of one run; infinite where a part of the shape fails or takes a quarter of what is allowed by itself
  double spent = 0;  // on finding out
};

/// Returns the work that `variant` is expected to need at `shape` on a device of `multiprocessors` (0: those of the named GPU).
/// Measures the work at ever larger parts of the largest dimension, the last an 8th: grids that fill the device stop growing
/// somewhere. Ends early where a part tells that the whole needs far more than `most`. The cost formula of an op does not tell:
/// a tile of 128 by 128 is as much work for one column as for all.
HostWork expected_host_work(const LabOp& op, const Variant& variant, ShapeView shape, double most,
                            int multiprocessors);

}  // namespace klab
