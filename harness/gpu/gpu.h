// A real GPU behind a few functions. The module that nvcc compiled provides them; tests provide their own.
//
// The program itself is not linked with CUDA, so it runs on machines with and without a driver.
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace klab {

/// Thrown if an allocation on the GPU, or of page-locked memory, does not fit; what() is CUDA's message.
/// Derives from std::bad_alloc, so that code that continues with less when the host is out of memory does so
/// here too.
class GpuOutOfMemory : public std::bad_alloc {
 public:
  explicit GpuOutOfMemory(const std::string& text) : text_(text) {}
  const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;  // its copies do not throw
};

/// Checks the module's answer to an allocation: CUDA's message, or nullptr for success. Throws GpuOutOfMemory
/// if it begins with cudaErrorMemoryAllocation, std::runtime_error for anything else.
void require_allocated(const char* said);

struct Gpu {
  std::string name, driver;
  int compute_capability = 0;
  int multiprocessors = 0;
  size_t memory = 0, l2 = 0;           // bytes
  int clock = 0, memory_clock = 0;     // maximum in MHz
  std::function<void*(size_t)> alloc;  // throws GpuOutOfMemory
  std::function<void(void*)> free;
  std::function<void*(size_t)> alloc_pinned;  // page-locked host memory
  std::function<void(void*)> free_pinned;
  std::function<void(void* device, const void* host, size_t)> upload;
  std::function<void(void* host, const void* device, size_t)> download;
  std::function<void(void* device, int byte, size_t)> fill;                  // in the stream, like kernels
  std::function<void(void* device, const void* host, size_t)> upload_later;  // returns before it is done
  /// Loads have their own stream, next to the steps' stream, which everything else uses. A load copies from
  /// page-locked memory and returns before it is done. It begins after everything submitted to the steps'
  /// stream so far.
  std::function<void(void* device, const void* host, size_t)> load;
  /// Makes later work in the steps' stream begin after all loads. The host does not wait.
  std::function<void()> loaded;
  /// The page-locked memory has two halves, 0 and 1. half_sent marks that all loads from a half were
  /// submitted. half_wait waits until they are done and returns whether it had to wait.
  std::function<void(int half)> half_sent;
  std::function<bool(int half)> half_wait;
  std::function<size_t()> free_memory;  // bytes
  std::function<void()> capture_begin;  // launches after this are recorded in a graph,
  std::function<void*()> capture_end;   // which this returns
  std::function<void(void*)> graph_launch, graph_free;
  std::function<void()> synchronize;  // throws the device's error for earlier work
  std::function<void()> begin;        // records an event in the stream
  std::function<double()> end;        // seconds since begin(), by the device's clock
  std::function<void()> mark;         // records one of many events in the stream, without waiting
  /// Waits for the last mark and clears all. Returns the seconds between consecutive marks, by the device's
  /// clock.
  std::function<std::vector<double>()> between_marks;
  /// Launches klab_variant_begins with that many blocks, at least 1. In a profiler's list, the launches
  /// between two of them belong to one variant.
  std::function<void(int)> announce;
};

/// Returns the first GPU of this machine; nullptr, with the reason, if there is none that klab can use.
const Gpu* gpu(std::string* why = nullptr);

/// Replaces the result of gpu() from now on, for tests; nullptr restores the real one.
void stand_in(const Gpu* other);

/// While it lives, CUDA variants are bound to the GPU rather than to the host.
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
