// What a CUDA variant would cost the host executor at a large shape.
#pragma once

#include "harness/core/lab.h"

namespace klab {

/// Work of the host executor (simt::Session::work()) that `variant` is expected to need at `shape`: what it needs at ever larger
/// parts of its largest dimension, the last a 64th, times the parts; told from a smaller part alone where that is far more
/// than `most`. The cost formula does not tell: a tile of 128 by 128 is as much work for one column as for all. Infinite
/// where a part is not legal, fails, or takes more than `most` by itself.
double expected_host_work(const LabOp& op, const Variant& variant, ShapeView shape, double most);

}  // namespace klab
