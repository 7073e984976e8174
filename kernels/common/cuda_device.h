// kernels/common/cuda.h for nvcc: CUDA itself, and klab::cuda over its runtime.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// 128 bytes: one row of banks.
#define KLAB_DYNAMIC_SHARED(T, name)                                          \
  extern __shared__ __align__(128) unsigned char klab_dynamic_shared_bytes[]; \
  T* const name = reinterpret_cast<T*>(klab_dynamic_shared_bytes)

namespace klab::cuda {

/// Throws CUDA's message, with the call and its place.
inline void check(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error) + " in " +
                           call + " at " + file + ":" + std::to_string(line));
}
#define KLAB_CUDA_CHECK(call) ::klab::cuda::check((call), #call, __FILE__, __LINE__)

/// The one stream that kernels run on.
inline cudaStream_t stream() {
  static const cudaStream_t one = [] {
    cudaStream_t made = nullptr;
    KLAB_CUDA_CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
  }();
  return one;
}

template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, A&&... args) {
  kernel<<<grid, block, shared_bytes, stream()>>>(static_cast<P>(args)...);
  KLAB_CUDA_CHECK(cudaGetLastError());
}

template <class... P>
void allow_shared(void (*kernel)(P...), size_t bytes) {
  KLAB_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
}

inline void fill_zero(void* device, size_t bytes) {
  if (bytes > 0) KLAB_CUDA_CHECK(cudaMemsetAsync(device, 0, bytes, stream()));
}
inline void copy_device(void* to, const void* from, size_t bytes) {
  if (bytes > 0) KLAB_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()));
}

/// For ops whose tensors stay in the host's memory. Back from `upload` the source may still be read, if it is
/// page-locked.
inline void upload(void* device, const void* host, size_t bytes) {
  if (bytes > 0) KLAB_CUDA_CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()));
}
inline void download(void* host, const void* device, size_t bytes) {
  if (bytes > 0) KLAB_CUDA_CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream()));
}

/// Streams that run concurrently. Work of one of them is in order, and starts after the work already on
/// stream(). Work that follows join() on stream() starts after all of theirs.
template <int count>
class Fork {
 public:
  Fork() {
    KLAB_CUDA_CHECK(cudaEventRecord(branches().event[0], klab::cuda::stream()));
    for (cudaStream_t s : branches().stream) KLAB_CUDA_CHECK(cudaStreamWaitEvent(s, branches().event[0], 0));
  }
  void upload(int which, void* device, const void* host, size_t bytes) {
    KLAB_CUDA_CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, branches().stream[which]));
  }
  void download(int which, void* host, const void* device, size_t bytes) {
    KLAB_CUDA_CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, branches().stream[which]));
  }
  template <class... P, class... A>
  void launch(int which, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, A&&... args) {
    kernel<<<grid, block, shared_bytes, branches().stream[which]>>>(static_cast<P>(args)...);
    KLAB_CUDA_CHECK(cudaGetLastError());
  }
  void join() {
    for (int i = 0; i < count; ++i) {
      KLAB_CUDA_CHECK(cudaEventRecord(branches().event[i], branches().stream[i]));
      KLAB_CUDA_CHECK(cudaStreamWaitEvent(klab::cuda::stream(), branches().event[i], 0));
    }
  }

 private:
  struct Branches {
    cudaStream_t stream[count];
    cudaEvent_t event[count];
  };
  // Kept: making a stream takes longer than most kernels.
  static const Branches& branches() {
    static const Branches one = [] {
      Branches made{};
      for (int i = 0; i < count; ++i) {
        KLAB_CUDA_CHECK(cudaStreamCreateWithFlags(&made.stream[i], cudaStreamNonBlocking));
        KLAB_CUDA_CHECK(cudaEventCreateWithFlags(&made.event[i], cudaEventDisableTiming));
      }
      return made;
    }();
    return one;
  }
};

namespace detail {
struct Kept {
  void* p;
  size_t bytes;
  bool taken;
};
inline std::vector<Kept>& kept() {
  static std::vector<Kept> list;
  return list;
}
}  // namespace detail

/// Device memory for one run(). Its content is undefined. Not for several host threads at once. Work on one stream is
/// in order, so memory may be taken again while the kernels that used it still run.
class Scratch {
 public:
  explicit Scratch(size_t bytes) {
    bytes = bytes > 0 ? bytes : 1;
    for (auto& k : detail::kept())
      if (!k.taken && k.bytes == bytes) {
        k.taken = true;
        p_ = k.p;
        return;
      }
    KLAB_CUDA_CHECK(cudaMalloc(&p_, bytes));
    detail::kept().push_back({p_, bytes, true});
  }
  ~Scratch() {
    for (auto& k : detail::kept())
      if (k.p == p_) k.taken = false;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(p_);
  }

 private:
  void* p_ = nullptr;
};

struct Device {
  int multiprocessors;
  size_t shared_per_block_optin;  // bytes
  int compute_capability;         // 90 for sm_90
};
inline Device device() {
  static const Device one = [] {
    int which = 0, count = 0, shared = 0, major = 0, minor = 0;
    KLAB_CUDA_CHECK(cudaGetDevice(&which));
    KLAB_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, which));
    KLAB_CUDA_CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, which));
    KLAB_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, which));
    KLAB_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, which));
    return Device{count, size_t(shared), 10 * major + minor};
  }();
  return one;
}

template <int bytes>
__device__ __forceinline__ void copy_async(void* shared, const void* global) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16)  // past L1, which only 16 bytes can
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(global) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;\n" ::"r"(to), "l"(global), "n"(bytes) : "memory");
}
template <int bytes>
__device__ __forceinline__ void copy_async_zfill(void* shared, const void* global, int filled) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(global), "r"(filled)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(to), "l"(global), "n"(bytes),
                 "r"(filled)
                 : "memory");
}
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int groups_left>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(groups_left) : "memory");
}

}  // namespace klab::cuda
