// Device memory on the host: one reserved range of addresses in which allocations lie far apart.
//
//   | slot of 2 MiB        | slot                 | ...
//   | guard | data | guard | guard | data ...
//
// Addresses next to an allocation belong to it (its guard), so an access just outside it is told from a wild
// one. A freed allocation keeps its addresses until all others have been used, so a late access is told from
// a wild one too. All functions may be called from several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/simt/shadow.h"

namespace klab::simt {

/// Where an allocation may be accessed: by kernels only (device), or by host code as well. library: memory of
/// a library whose algorithms run on the host here, but in stream order on a GPU.
enum class Home : uint8_t { device, pinned, managed, library };

struct Allocation {
  char* begin = nullptr;
  size_t bytes = 0;
  char* guard_begin = nullptr;  // first address that belongs to it, and the end
  char* guard_end = nullptr;
  bool live = false;
  bool given_back = false;  // scratch memory that is in the pool: treated as freed
  Home home = Home::device;
  std::string name;
  // one cell for each word of 4 bytes, created when a traced kernel first touches the allocation
  Cell* shadow = nullptr;
};

/// Range of all device memory.
extern char* device_begin;
extern char* device_end;
inline bool is_device(const void* p) {
  return static_cast<const char*>(p) >= device_begin && static_cast<const char*>(p) < device_end;
}

/// True while this thread runs traced kernels; only then are written bytes tracked.
extern thread_local bool watching;

/// Number of frees of device memory. Cached allocations are stale after it changes.
extern std::atomic<uint64_t> device_frees;

/// Owner of each slot of 2 MiB of device memory, live or freed.
inline constexpr size_t kDeviceSlot = 2 << 20;
extern Allocation* const* device_owner;
inline Allocation* owner_of(const char* device_address) {
  return device_owner[size_t(device_address - device_begin) / kDeviceSlot];
}

/// Returns the allocation whose data or guards contain p, live or freed; nullptr if there never was one.
Allocation* allocation_at(const void* p);

/// Allocates as device_alloc() does, but begins `off` bytes (less than 256) behind the aligned address.
void* device_alloc_off(size_t bytes, const char* name, size_t off);

/// Marks bytes as written (defined) or as undefined, for traced kernels.
void mark_defined(void* p, size_t bytes, bool defined);

/// Returns an empty string if the guards next to the data are intact; else says where they were written.
std::string guards_broken(const Allocation& allocation);

/// Returns the shadow of an allocation, created on first use.
Cell* shadow_of(Allocation& allocation);

/// Makes the pages of an illegal access to addresses of device memory accessible, and takes that back. Pages that
/// hold a live allocation stay as they are.
bool open_pages(char* p, size_t bytes);
void close_pages(char* p, size_t bytes);

size_t device_bytes_in_use();

/// In programs: called for each access that host code makes to device memory or to a __device__ variable
/// (`watched_begin` to `watched_end`), or to memory of the host in the range from `unwritten_begin` to
/// `unwritten_end`. nullptr: no callback.
enum class HostAccess : uint8_t { read, write, atomic };  // atomic: also a volatile access, to a flag
using HostTouch = void (*)(const void* p, size_t bytes, HostAccess how, const void* return_address);
extern HostTouch host_touch;
extern const char *watched_begin, *watched_end;
extern std::atomic<const char*> unwritten_begin, unwritten_end;

/// Counts words as unwritten that were copied from variables that were never set (unset.h).
void find_unset(const Allocation& allocation, size_t offset, size_t bytes);

/// Returns whether a byte that nothing has written lies behind the end of a text (unset.h).
bool is_behind_text(const Allocation& allocation, size_t offset);

/// Calls `each(offset, bytes)` for the parts of a range in an allocation that nothing has written.
void each_undefined(const Allocation& allocation, size_t offset, size_t bytes,
                    const std::function<void(size_t offset, size_t bytes)>& each);

/// Returns all live allocations.
std::vector<const Allocation*> live_allocations();

}  // namespace klab::simt
