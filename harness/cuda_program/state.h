// State shared by the parts of the runtime of CUDA programs. The API may be called from several threads; a
// lock serializes the calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/simt/finding.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"
#include "klab_cuda/program.h"

namespace klab::program {

/// A CUDA error, thrown inside the API.
struct Failed {
  cudaError_t error;
};

using Work = std::function<void()>;

/// Work in a stream, and the work that it waits for.
struct StreamState;
struct GraphState;

struct State {
  std::recursive_mutex mutex;
  std::unique_ptr<simt::Session> session;
  // set when a kernel was aborted: all calls fail with it until the device is reset
  cudaError_t broken = cudaSuccess;
  std::atomic<uint64_t> work_number{0};
  int64_t launches = 0;
  const void* place_of_launch = nullptr;  // of the running <<<>>>
  // failed calls whose error the program has not asked for, in their order
  struct Unasked {
    std::thread::id thread;
    simt::Finding finding;
  };
  std::vector<Unasked> unasked;
  double kernel_seconds = 0;
  // blocks of watched launches, and those of them that were watched
  double blocks = 0, watched_blocks = 0;
  // calls of libraries on the host, and the bytes that they read and wrote
  struct LibraryCalls {
    int64_t count = 0;
    uint64_t bytes = 0;
  };
  std::map<std::string, LibraryCalls> library_calls;
};
State& state();

/// Returns this thread's last error.
cudaError_t& last_error();
/// Returns the error with CUDA's name for it, or cudaErrorUnknown.
cudaError_t error_named(const std::string& name);

/// Returns what is known about this thread's last error, beyond its name: a sentence, or nothing.
std::string& last_reason();
/// Records that `what` failed at that place, unless the program asks for the error later.
void unasked_failure(cudaError_t error, const std::string& what, const void* return_address);
/// Adds the failures that the program has not asked for to the findings.
void add_unasked();

/// Runs the body of an API call with the lock held, and returns its error as CUDA does.
cudaError_t api(const std::function<void()>& body, bool when_broken = false);
/// The same for a call that does not wait for launches, unless its body says so (unfinished.h): a launch that waits for something
/// goes on meanwhile.
cudaError_t api_without_wait(const std::function<void()>& body);
inline void require(bool good, cudaError_t otherwise = cudaErrorInvalidValue) {
  if (!good) throw Failed{otherwise};
}

/// Does the work now, or records it in the graph that captures the stream. `meanwhile`: it may be done while a kernel of another stream
/// runs; it is a copy, a fill or a function of the host.
void enqueue(cudaStream_t stream, Work work, bool meanwhile = false);
/// Does work of the legacy stream now, as calls do that no capture records.
void run_in_legacy(const Work& work);
/// Returns whether the program has a stream of its own, so that work may be without order.
bool has_streams();
/// Attributes of a launch.
struct LaunchExtras {
  bool cooperative = false;
  unsigned cluster[3] = {0, 0, 0};  // 0: as the kernel says
  bool overlaps =
      false;  // it may begin before the launch before it has ended (programmatic dependent launch)
};
/// Runs a kernel of the running work, which finds accesses that nothing orders behind work of other streams, or behind the
/// launch before it if it overlaps with that.
void launch_in_stream(const simt::Launch& launch, const std::string& kernel, const LaunchExtras& extras,
                      bool non_portable);
/// Records that the running copy or fill accesses device memory. Reports it if nothing orders it behind work of other
/// streams.
void touches_in_stream(const void* p, size_t bytes, bool write);
/// Throws if the handle is not a stream.
void require_stream(cudaStream_t stream);
/// Throws during a capture. For calls that wait for all work, which captures forbid.
void require_no_capture();
/// Records that host code has waited for the work of the stream (nullptr: of all streams).
void synchronized(cudaStream_t stream, bool all);
/// Records that host code must wait for the stream before it accesses that allocation. `why`: "a kernel that
/// was given it was launched". `reads`: the device only reads it, so host code may too.
void busy(const void* p, cudaStream_t stream, const std::string& why, bool reads = false);
/// Does this for all allocations of pinned or managed memory that a parameter block points to.
void busy_parameters(const void* parameters, size_t bytes, cudaStream_t stream, const std::string& kernel);
void forget_busy(const void* p);
/// Returns the work that host code should have waited for; empty if there is none.
std::string busy_reason(const void* p, bool write);
/// Returns whether no memory is busy.
bool nothing_busy();

/// Returns the call that launches the kernel behind a name.
const Call& call_of(const void* function);
void launch_with(const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream,
                 const LaunchExtras& extras);
Work work_of_launch(const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                    bool cooperative);

/// Copy between any two places, with CUDA's checks.
void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
void copy_2d(char* to, size_t to_pitch, const char* from, size_t from_pitch, size_t width, size_t height,
             cudaMemcpyKind kind);
void copy_3d(const cudaMemcpy3DParms& p);
void fill(void* p, int value, size_t bytes);

/// Bytes that a copy has brought to the host although nothing has written them. Reading one is a finding at the
/// copy. Records them for a copy from `from` in device memory.
void brought_to_host(void* to, const void* from, size_t bytes);
/// Marks device memory as undefined where the host memory that was copied to it is.
void brought_to_device(void* to, const void* from, size_t bytes);
/// Records that the host copies such bytes within its own memory, or overwrites or frees them.
void unwritten_moved(void* to, const void* from, size_t bytes);
void written_by_host(const void* p, size_t bytes);
/// Reports a read of such bytes.
void unwritten_read(const void* p, size_t bytes, const void* return_address);

/// Returns the __device__ or __constant__ variable that p lies in, if the program has its name only, rather
/// than its address on the device (cudaGetSymbolAddress); else nullptr.
const simt::Allocation* bare_name(const void* p);

/// Returns the device, pinned or managed memory, or the kernel variable that contains p; nullptr for ordinary
/// host memory.
const simt::Allocation* memory_at(const void* p);

/// Returns the program's position, for findings of host code: the innermost caller in its own code.
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
/// An array, and smaller and smaller ones of the same picture.
struct cudaMipmappedArray {
  std::vector<cudaArray_t> levels;
};
