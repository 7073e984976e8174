// What a CUDA variant would cost the host executor at a large shape.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "harness/core/buffers.h"
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

/// Random inputs at parts of one shape, drawn once for all variants. Several threads may use it.
class PartInputs {
 public:
  explicit PartInputs(const LabOp& op) : op_(op) {}
  /// Copies the inputs of that shape into `tensors`.
  void copy_to(ShapeView part, const std::vector<TensorSpec>& specs, Tensors& tensors);

 private:
  const LabOp& op_;
  std::mutex mutex_;
  std::map<std::vector<int64_t>, Tensors> drawn_;
};

/// Returns the work that `variant` is expected to need at `shape` on a device of `multiprocessors` (0: those of the named GPU).
/// Measures the work at ever larger parts of the largest dimension, the last an 8th: grids that fill the device stop growing
/// somewhere. Ends early where a part tells that the whole needs far more than `most`. The cost formula of an op does not tell:
/// a tile of 128 by 128 is as much work for one column as for all.
HostWork expected_host_work(const LabOp& op, const Variant& variant, ShapeView shape, double most,
                            int multiprocessors, PartInputs& inputs);

/// Returns `shape` with its largest dimension as small as it may be for twice as many blocks to be joined as there are threads for it
/// (simt::block_turns()), or for a few more blocks than threads where that is too much. Sizes are told from the grids of parts, on a
/// device with all multiprocessors. Empty if no size up to that of `shape` has that number of blocks, or if one run would take more than `most`
/// of the work.
std::vector<int64_t> shape_with_many_blocks(const LabOp& op, const Variant& variant, ShapeView shape,
                                            double most, PartInputs& inputs);

}  // namespace klab
