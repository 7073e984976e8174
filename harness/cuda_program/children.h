// Kernels that kernels launch: kept until the grid that launched them has ended, then run in the order of the launches.
#pragma once

#include <functional>
#include <vector>

#include "harness/cuda_program/state.h"

namespace klab::program {

/// Levels of kernels that launch kernels, as CUDA limits them.
inline constexpr int kMostLevels = 24;

/// One launch by a thread of a kernel.
struct Child {
  Call call;
  std::shared_ptr<void> parameters;
  dim3 grid, block;
  size_t shared = 0;
  bool tail = false;  // behind all others of its grid
  const void* place = nullptr;
  uint64_t of_block = 0;
  unsigned of_thread = 0;
};

/// Keeps what the running thread wrote within <<<>>> until it calls the kernel.
void configure_child(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const void* place);
/// Records a launch by the running thread.
void launch_child(const Call& call, const void* parameters);
/// Returns the launches of the grid that has ended, in the order in which they run.
std::vector<Child> take_children();

/// Ends the launch if the call is made in device code, which cannot wait.
void refuse_in_kernel(const char* call);

/// Returns memory for the parameters of a launch. `made`: they will be constructed there.
std::shared_ptr<void> room_for(const Call& call, bool made);

}  // namespace klab::program
