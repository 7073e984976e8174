// A real GPU, seen through a few functions: the module that nvcc compiled brings them, tests bring their own.
//
// The program itself is not linked with CUDA, so one program runs on machines with a driver and without.
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace klab {

/// There is no room for an allocation on the GPU, or for page-locked memory; what() is what CUDA says. Whoever goes on with less
/// where the host has no memory does so here.
class GpuOutOfMemory : public std::bad_alloc {
 public:
  explicit GpuOutOfMemory(const std::string& text) : text_(text) {}
  const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;  // whose copies do not throw
};

/// What the module says of an allocation, in CUDA's words; nullptr: it went well. Throws GpuOutOfMemory where these begin with
/// cudaErrorMemoryAllocation, std::runtime_error for anything else.
void require_allocated(const char* said);

struct Gpu {
  std::string name, driver;
  int compute_capability = 0;
  int multiprocessors = 0;
  size_t memory = 0, l2 = 0;           // bytes
  int clock = 0, memory_clock = 0;     // MHz, at most
  std::function<void*(size_t)> alloc;  // throws GpuOutOfMemory
  std::function<void(void*)> free;
  std::function<void*(size_t)> alloc_pinned;  // page-locked memory of the host
  std::function<void(void*)> free_pinned;
  std::function<void(void* device, const void* host, size_t)> upload;
  std::function<void(void* host, const void* device, size_t)> download;
  std::function<void(void* device, int byte, size_t)> fill;                  // in the stream, as kernels are
  std::function<void(void* device, const void* host, size_t)> upload_later;  // back before it is done
  /// Loads have a stream of their own beside that of the steps, which all else is in. A load copies from page-locked memory and is
  /// back before it is done; it begins behind everything that the steps' stream was given so far.
  std::function<void(void* device, const void* host, size_t)> load;
  /// What the steps' stream is given from here on begins behind all loads. The host does not wait.
  std::function<void()> loaded;
  /// The page-locked memory is in two halves, 0 and 1: all loads from that one are given, and a wait until they are done,
  /// which says whether it took any waiting.
  std::function<void(int half)> half_sent;
  std::function<bool(int half)> half_wait;
  std::function<size_t()> free_memory;  // bytes
  std::function<void()> capture_begin;  // launches from here on go into a graph,
  std::function<void*()> capture_end;   // which this one brings
  std::function<void(void*)> graph_launch, graph_free;
  std::function<void()> synchronize;  // throws what the device says of the work before
  std::function<void()> begin;        // an event in the stream, and
  std::function<double()> end;        // the seconds since it, by the device's clock
  std::function<void()> mark;         // one of many events in the stream, without waiting
  /// Waits for the last mark, and forgets all: the seconds between each mark and the next, by the device's clock.
  std::function<std::vector<double>()> between_marks;
  /// Launches klab_variant_begins with that many blocks, at least 1: between two of them a profiler's list of launches belongs to
  /// one variant.
  std::function<void(int)> announce;
};

/// The first GPU of this machine; nullptr with the reason why there is none that klab can use.
const Gpu* gpu(std::string* why = nullptr);

/// Stands in for gpu() from now on, for tests; nullptr: what is really there.
void stand_in(const Gpu* other);

/// While it lives, CUDA variants that are bound run on the GPU rather than on the host.
class OnGpu {
 public:
  explicit OnGpu(bool yes);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  bool before_;
};
bool on_gpu();

}  // namespace klab
