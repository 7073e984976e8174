// Where a program of ops runs: a processor, a GPU, or the host executor. Its memory, its copies, and how it calls a variant.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/lab.h"

namespace klab {

/// A place where programs of ops run: its memory, and how it calls a variant.
struct Backend {
  static constexpr size_t kStaged = 4096;  // bytes of a small upload

  std::string name;            // "cpu"
  bool in_host_memory = true;  // arrays of the host are used in place
  /// Whether numbers that ops have written are read between calls, so that each call has the size it needs.
  /// Otherwise a call has the largest size that there is room for, and the surplus is padding.
  bool exact = true;
  /// Allocates zeroed memory. Throws std::bad_alloc or std::runtime_error if there is too little.
  std::function<void*(size_t bytes, const std::string& tensor)> alloc;
  std::function<void(void* p, size_t bytes)> free;
  std::function<void(void*to, const void*from, size_t bytes)> upload, download;
  std::function<void(void* p, uint8_t byte, size_t bytes)> fill;
  /// Returns a variant bound to its shape and pointers, ready to be called.
  std::function<std::function<void()>(const Variant&, ShapeView, std::span<void* const>)> bind;
  /// Waits for all calls and throws their errors.
  std::function<void()> wait;
  /// Uploads a few bytes in order with calls; the source may change at once. Empty: upload does it.
  std::function<void(void* to, const void* from, size_t bytes)> stage;
  /// Copies concurrently with calls, on a stream of its own, to memory that earlier calls may still read: the
  /// copy starts after them. The source may change at once. Returns how often the host had to wait for room.
  /// Empty: upload does it, in order with the calls.
  std::function<int64_t(void* to, const void* from, size_t bytes)> load;
  /// Makes later calls wait for all loads so far; the host does not wait. Empty: they wait anyway.
  std::function<void()> loaded;
  int64_t load_room = 0;  // bytes of the host's memory that loads go through
  /// Records calls as one that can be repeated; they are made once without being run. Empty: not supported.
  std::function<std::function<void()>(const std::function<void()>& calls)> record;
  /// A clock in order with calls. mark() does not wait; between_marks() does, returns the seconds between
  /// each mark and the next, and forgets the marks. Empty: the host times calls, which have finished when
  /// they return.
  std::function<void()> mark;
  std::function<std::vector<double>()> between_marks;
  /// Bytes that are still available. Empty: unknown.
  std::function<int64_t()> available;
};

/// The processor, in the host's memory.
Backend cpu_backend();

}  // namespace klab
