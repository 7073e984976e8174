// What a CUDA variant would cost the host executor at a large shape.
#pragma once

#include "harness/core/lab.h"

namespace klab {

/// Work of the host executor (simt::Session::work()) that `variant` is expected to need at `shape`: what it needs at a 32nd of
/// its largest dimension, times 32. The cost formula does not tell: a tile of 128 by 128 is as much work for one column
/// as for all. Infinite where the small shape is not legal or fails.
double expected_host_work(const LabOp& op, const Variant& variant, ShapeView shape, double most);

}  // namespace klab
