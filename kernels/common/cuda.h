// The CUDA that variants are written in, for nvcc and for the host compiler alike.
//
// A file kernels/<op>/cuda/NN_idea.cu is compiled twice for the host, where harness/simt runs it thread by
// thread, once more watching every load and store, and by nvcc where there is one. In addition to CUDA's own
// names:
//
//   KLAB_DYNAMIC_SHARED(float, tile);              in a kernel: float* tile, the block's dynamic shared memory
//   cuda::launch(kernel, grid, block, shared_bytes, args...)       <<<>>> on the one stream, errors thrown
//   cuda::allow_shared(kernel, bytes)              dynamic shared memory beyond 48 KB
//   cuda::fill_zero(p, bytes)  cuda::copy_device(to, from, bytes)
//   cuda::upload(device, host, bytes)  cuda::download(host, device, bytes)       for ops whose tensors stay on the host
//   cuda::Fork<2> streams; streams.upload(0, ...); streams.launch(1, kernel, ...); streams.join();
//   cuda::Scratch scratch(bytes); scratch.as<T>()  device memory for one run(), kept for the next, content undefined
//   cuda::device().multiprocessors ...
//   cuda::copy_async<16>(shared, global)  copy_async_zfill<16>(shared, global, bytes)  copy_async_commit()
//   cuda::copy_async_wait<N>()                     cp.async: at most N groups are left in flight
//   cuda::aligned(p)  cuda::aligned(p, 8)          whether an address is a multiple of 16, of 8
//   cuda::needs(host, 80)  cuda::needs_gpu(host, 90)               for supported(): "" or the reason why not
//
// KLAB_SIMT is 1 in files compiled for the host, else 0.
#pragma once

#include <cstdint>
#include <string>

#if defined(__CUDACC__)
#define KLAB_SIMT 0
#include "kernels/common/cuda_device.h"
#else
#include "harness/simt/cuda_runtime.h"
#include "harness/simt/half.h"
#include "harness/simt/intrinsics.h"
#include "harness/simt/warp.h"
#include "harness/simt/wmma.h"
#endif

namespace klab::cuda {

/// Returns whether the address is a multiple of `bytes`.
inline bool aligned(const void* p, uintptr_t bytes = 16) {
  return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

/// Empty when a device of that compute capability (80, 90) runs the variant, the host's emulation included.
template <class Host>
std::string needs(const Host& host, int capability) {
  if (host.compute_capability >= capability) return "";
  return "needs a GPU of compute capability " + std::to_string(capability / 10) + "." +
         std::to_string(capability % 10);
}

/// As needs(), for features that only a real device has.
template <class Host>
std::string needs_gpu(const Host& host, int capability) {
  if (!host.gpu) return needs(Host{}, capability);
  return needs(host, capability);
}

}  // namespace klab::cuda
