// Device memory on the host: one reserved range of addresses, in which allocations stand far apart.
//
//   | slot of 2 MiB        | slot                 | ...
//   | guard | data | guard | guard | data ...
//
// Addresses next to an allocation belong to it (its guard), so an access near by is told from a wild one; a freed
// allocation keeps its addresses until all others have been used, so a late access is told from a wild one too.
// All functions may be called from several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/shadow.h"

namespace klab::simt {

/// Who may touch an allocation: kernels only, or host code as well.
/// library: of a library whose algorithms run on the host here and in the order of its stream on a GPU.
enum class Home : uint8_t { device, pinned, managed, library };

struct Allocation {
  char* begin = nullptr;
  size_t bytes = 0;
  char* guard_begin = nullptr;  // first and last address that belong to it
  char* guard_end = nullptr;
  bool live = false;
  bool given_back = false;  // scratch memory that nobody has taken: as good as freed
  Home home = Home::device;
  std::string name;
  Cell* shadow = nullptr;  // one a word of 4 bytes, made when the first traced kernel touches it
};

/// Range of all device memory.
extern char* device_begin;
extern char* device_end;
inline bool is_device(const void* p) {
  return static_cast<const char*>(p) >= device_begin && static_cast<const char*>(p) < device_end;
}

/// True while this thread runs traced kernels: only then is it kept what is defined.
extern thread_local bool watching;

/// How often device memory has been freed: who remembers allocations must look again.
extern std::atomic<uint64_t> device_frees;

/// Who owns each piece of 2 MiB of device memory, live or freed.
inline constexpr size_t kDeviceSlot = 2 << 20;
extern Allocation* const* device_owner;
inline Allocation* owner_of(const char* device_address) {
  return device_owner[size_t(device_address - device_begin) / kDeviceSlot];
}

/// The allocation whose data or guards hold p, live or freed; nullptr where nothing ever was.
Allocation* allocation_at(const void* p);

/// device_alloc(), `off` bytes (less than 256) behind where an allocation would begin.
void* device_alloc_off(size_t bytes, const char* name, size_t off);

/// Marks bytes as written (defined) or as undefined, for traced kernels.
void mark_defined(void* p, size_t bytes, bool defined);

/// Empty when the guards nearest to the data are as they were made; else says where they were written.
std::string guards_broken(const Allocation& allocation);

/// The shadow of an allocation, made on first use.
Cell* shadow_of(Allocation& allocation);

size_t device_bytes_in_use();

/// In a program: told of each access that host code makes to device memory or to a __device__ variable (`watched_begin` to
/// `watched_end`). nullptr: nobody asks.
using HostTouch = void (*)(const void* p, size_t bytes, bool write, const void* return_address);
extern HostTouch host_touch;
extern const char *watched_begin, *watched_end;

/// All allocations that live.
std::vector<const Allocation*> live_allocations();

}  // namespace klab::simt
