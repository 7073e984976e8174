// What the parts of the runtime of CUDA programs share. The API may be called from several threads: one at a time is let in.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "harness/simt/finding.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/session.h"
#include "klab_cuda/program.h"

namespace klab::program {

/// An error of CUDA's, thrown inside of the API.
struct Failed {
  cudaError_t error;
};

using Work = std::function<void()>;

/// Work that a stream was given, and what it waits for.
struct StreamState;
struct GraphState;

struct State {
  std::recursive_mutex mutex;
  std::unique_ptr<simt::Session> session;
  cudaError_t broken = cudaSuccess;  // a kernel was ended: all calls fail with this until the device is reset
  std::atomic<uint64_t> work_number{0};
  int64_t launches = 0;
  double kernel_seconds = 0;
};
State& state();

/// This thread's last error.
cudaError_t& last_error();
/// The error under the name CUDA gives it; cudaErrorUnknown for none.
cudaError_t error_named(const std::string& name);

/// Runs the body of an API call: alone, with errors as CUDA returns them.
cudaError_t api(const std::function<void()>& body, bool when_broken = false);
inline void require(bool good, cudaError_t otherwise = cudaErrorInvalidValue) {
  if (!good) throw Failed{otherwise};
}

/// Does the work now, or keeps it for the graph that the stream is captured into.
void enqueue(cudaStream_t stream, Work work);
/// Throws where a stream is no stream.
void require_stream(cudaStream_t stream);
/// A call that waits for all work, which no capture allows.
void require_no_capture();
/// Host code has waited for what the stream had been given (nullptr: for all streams).
void synchronized(cudaStream_t stream, bool all);
/// Host code must wait for the stream before it touches that allocation. `why`: "a kernel that was given it was launched".
void busy(const void* p, cudaStream_t stream, const std::string& why);
/// Allocations of pinned or managed memory that a parameter block points to.
void busy_parameters(const void* parameters, size_t bytes, cudaStream_t stream, const std::string& kernel);
void forget_busy(const void* p);
/// Empty, or what host code should have waited for.
std::string busy_reason(const void* p);
/// True when that is so of no memory at all.
bool nothing_busy();

/// The kernel behind a name: what launches it.
const Call& call_of(const void* function);
void launch_with(const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream,
                 bool cooperative);
Work work_of_launch(const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                    bool cooperative);

/// Copies between any two places, checked as CUDA checks them.
void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
void copy_2d(char* to, size_t to_pitch, const char* from, size_t from_pitch, size_t width, size_t height,
             cudaMemcpyKind kind);
void copy_3d(const cudaMemcpy3DParms& p);
void fill(void* p, int value, size_t bytes);

/// The device memory, pinned or managed memory, or variable of a kernel that p lies in; nullptr where it is the host's own.
const simt::Allocation* memory_at(const void* p);

/// Where the program is, for findings of host code: the innermost caller that is the program's own.
simt::SourceLine place_of_call();
void add_host_finding(simt::Kind kind, const std::string& text, const void* return_address = nullptr);

}  // namespace klab::program

/// Memory that textures read, in rows and layers.
struct cudaArray {
  cudaChannelFormatDesc desc;
  size_t width, height, depth;
  unsigned flags;
  char* data;
  size_t texel() const { return size_t(desc.x + desc.y + desc.z + desc.w) / 8; }
  size_t rows() const { return height == 0 ? 1 : height; }
  size_t layers() const { return depth == 0 ? 1 : depth; }
  size_t row_bytes() const { return width * texel(); }
};
