// What the libraries on the host share: their calls run in stream order, and the memory that they use is checked.
#pragma once

#include <functional>
#include <string>

#include "harness/cuda_program/state.h"

namespace klab::program {

/// A call of a library while it runs.
class LibraryCall {
 public:
  explicit LibraryCall(const char* name) : name_(name) {}
  /// Check that the bytes lie in memory of the device, and record that the call reads or writes them. Report reads of
  /// what nothing has written. Throw Failed otherwise.
  void reads(const void* p, size_t bytes);
  void writes(void* p, size_t bytes);
  /// The same for an array of columns, of which each has `bytes` and begins `step` bytes behind the last.
  void reads_columns(const void* p, size_t bytes, size_t columns, size_t step);
  void writes_columns(void* p, size_t bytes, size_t columns, size_t step);
  const char* name() const { return name_; }
  ~LibraryCall();

 private:
  const simt::Allocation* memory_of(const void* p, size_t bytes) const;
  const char* name_;
  size_t bytes_ = 0;
  bool told_ = false;
};

/// Runs `work` in the stream's order, under the lock of the runtime. Returns cudaSuccess or the error.
cudaError_t library_call(const char* name, cudaStream_t stream, std::function<void(LibraryCall&)> work);

}  // namespace klab::program
