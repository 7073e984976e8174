// Memory between inaccessible pages, so that an access beyond a tensor's end is noticed even if nothing is
// written.
//
// An access to such a page raises SIGSEGV. The signal handler (harness/check/crash_guard.h) calls
// mend_memory_fault(), which records the access and makes the page accessible. The kernel then runs to its
// end on whichever thread it uses, and its faults are reported afterwards. take_memory_faults() closes the
// pages again.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace klab {

/// Placement of a tensor in memory.
enum class GuardPlacement {
  fenced,     // in ordinary memory, between two fences
  from_page,  // an unmapped page precedes it; the distance is its misalignment
  to_page,    // an unmapped page follows its last byte; its alignment results from its size
  near_page,  // off alignment as requested; an unmapped page begins less than 64 bytes after its end
};
const char* name_of(GuardPlacement placement);

/// Whole pages with a megabyte of unmapped pages on either side. Taken from a pool and returned to it.
class GuardedPages {
 public:
  /// Provides at least `bytes`. Throws std::bad_alloc.
  explicit GuardedPages(int64_t bytes);
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  std::byte* begin() const { return begin_; }
  std::byte* end() const { return end_; }
  /// Writes to a read-only page are also recorded, and then permitted.
  void read_only(bool yes);

 private:
  std::byte *begin_ = nullptr, *end_ = nullptr;
  size_t slot_ = 0;  // index in the table that mend_memory_fault() reads
};

/// An access that must not happen.
struct MemoryFault {
  const std::byte* at = nullptr;  // first inaccessible byte of it
  enum class Access { unknown, read, write } access = Access::unknown;
  bool mapped = false;  // a write to readable memory
};

/// Starts recording accesses to guarded pages and to unmapped addresses.
void watch_memory();
/// Stops recording, returns the faults, one per page, and closes the opened pages.
std::vector<MemoryFault> take_memory_faults();

/// Called from a signal handler. Returns whether the access can be retried.
bool mend_memory_fault(int signal, const siginfo_t* info, const void* context);

}  // namespace klab
