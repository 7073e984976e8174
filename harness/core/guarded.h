// Memory between pages that nothing may touch, so that an access beyond a tensor's end is seen though nothing is written.
//
// An access to such a page raises SIGSEGV. Whoever watches (harness/check/crash_guard.h) hands the signal to
// mend_memory_fault(), which notes it and makes the page accessible: the kernel runs on to its end, on whichever thread it
// was, and is told afterwards what it touched. take_memory_faults() closes the pages again.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace klab {

/// Where a tensor lies.
enum class GuardPlacement {
  fenced,     // in ordinary memory, between two fences
  from_page,  // an unmapped page lies before it, as far away as it is off alignment
  to_page,    // an unmapped page lies right behind its last byte; its alignment is what follows from its size
  near_page,  // off alignment as asked; an unmapped page lies less than 64 bytes behind its end
};
const char* name_of(GuardPlacement placement);

/// Whole pages with a megabyte of unmapped ones on either side. Taken from a pool and given back to it.
class GuardedPages {
 public:
  /// At least so many bytes. Throws std::bad_alloc.
  explicit GuardedPages(int64_t bytes);
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  std::byte* begin() const { return begin_; }
  std::byte* end() const { return end_; }
  /// A write to a page that may only be read is noted, too, and then let through.
  void read_only(bool yes);

 private:
  std::byte *begin_ = nullptr, *end_ = nullptr;
  size_t slot_ = 0;  // in the table that mend_memory_fault() looks at
};

/// An access that should not have been.
struct MemoryFault {
  const std::byte* at = nullptr;  // the first byte of it that was not accessible
  enum class Access { unknown, read, write } access = Access::unknown;
  bool mapped = false;  // a write to memory that may be read
};

/// From now on accesses to guarded pages, and to addresses where there is no memory at all, are noted.
void watch_memory();
/// Ends that; returns what was noted, one entry a page, and closes what was opened.
std::vector<MemoryFault> take_memory_faults();

/// From a signal handler: whether the access may be tried again.
bool mend_memory_fault(int signal, const siginfo_t* info, const void* context);

}  // namespace klab
