#include "harness/simt/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "harness/simt/finding.h"
#include "harness/simt/modules.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/unset.h"

namespace klab::simt {

char* device_begin = nullptr;
char* device_end = nullptr;
Allocation* const* device_owner = nullptr;
thread_local bool watching = false;
std::atomic<uint64_t> device_frees{0};
HostTouch host_touch = nullptr;
const char *watched_begin = nullptr, *watched_end = nullptr;
std::atomic<const char*> unwritten_begin{nullptr}, unwritten_end{nullptr};

namespace {

constexpr size_t kSlot = kDeviceSlot;
constexpr size_t kGuard = 64 << 10;  // bytes of addresses reserved before and after the data
constexpr size_t kFilled = 512;      // bytes of the guard that are mapped and hold a known pattern
constexpr size_t kPage = 4096;
constexpr unsigned char kPattern = 0xFD;

struct Scratch {
  char* p;
  size_t bytes;
  bool taken;
};

struct Device {
  std::mutex mutex;
  std::vector<Allocation*> owner;  // by slot
  std::deque<Allocation> allocations;
  std::vector<Allocation*> unused;
  size_t next = 0;  // slot to try first
  size_t count = 0;
  size_t in_use = 0;

  Device() {
    for (size_t bytes = size_t(1) << 38; bytes >= size_t(1) << 30; bytes /= 2) {
      void* p = mmap(nullptr, bytes + kSlot, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (p == MAP_FAILED) continue;
      const auto address = (reinterpret_cast<uintptr_t>(p) + kSlot - 1) / kSlot * kSlot;
      device_begin = reinterpret_cast<char*>(address);
      device_end = device_begin + bytes;
      owner.assign(bytes / kSlot, nullptr);
      device_owner = owner.data();
      return;
    }
    throw Error("cudaErrorMemoryAllocation", "no range of addresses for device memory");
  }

  size_t find_run(size_t slots) {
    for (size_t at = next, tried = 0; tried <= owner.size() + slots; ++tried) {
      if (at + slots > owner.size()) at = 0;
      size_t free = 0;
      while (free < slots && (owner[at + free] == nullptr || !owner[at + free]->live)) ++free;
      if (free == slots) return at;
      at += free + 1;
      tried += free;
    }
    throw Error("cudaErrorMemoryAllocation",
                "out of memory: no addresses left for " + std::to_string(slots * kSlot >> 20) + " MiB");
  }

  /// Drops freed allocations whose addresses are used again.
  void forget(size_t at, size_t slots) {
    for (size_t i = at; i < at + slots; ++i) {
      Allocation* old = owner[i];
      if (old == nullptr) continue;
      for (size_t k = slot_of(old->guard_begin); k < slot_of(old->guard_end - 1) + 1; ++k) owner[k] = nullptr;
      unused.push_back(old);
    }
  }

  static size_t slot_of(const char* p) { return size_t(p - device_begin) / kSlot; }
};

Device& device() {
  static Device& d = *new Device;  // never freed: objects destroyed at exit may still hold memory
  return d;
}

char* page_down(char* p) { return p - (reinterpret_cast<uintptr_t>(p) % kPage); }
char* page_up(char* p) { return page_down(p + kPage - 1); }

size_t words_of(const Allocation& a) { return (a.bytes + 3) / 4; }

}  // namespace

Allocation* allocation_at(const void* p) {
  if (!is_device(p)) return nullptr;
  return device().owner[Device::slot_of(static_cast<const char*>(p))];
}

void* device_alloc(size_t bytes, const char* name) { return device_alloc_off(bytes, name, 0); }

void* device_alloc_off(size_t bytes, const char* name, size_t off) {
  Device& d = device();
  const std::lock_guard lock(d.mutex);
  // Allocations begin at different offsets, so that they use different cache sets, as with a real allocator.
  const size_t front = kGuard + (d.count++ * 4352) % kGuard / 256 * 256 + off;
  const size_t slots = (front + bytes + kGuard + kSlot - 1) / kSlot;
  const size_t at = d.find_run(slots);
  d.forget(at, slots);
  Allocation* a;
  if (d.unused.empty()) {
    a = &d.allocations.emplace_back();
  } else {
    a = d.unused.back();
    d.unused.pop_back();
  }
  *a = Allocation{};
  a->guard_begin = device_begin + at * kSlot;
  a->guard_end = a->guard_begin + slots * kSlot;
  a->begin = a->guard_begin + front;
  a->bytes = bytes;
  a->name = name;
  char* from = page_down(a->begin - kFilled);
  char* to = page_up(a->begin + bytes + kFilled);
  if (mprotect(from, size_t(to - from), PROT_READ | PROT_WRITE) != 0) {
    d.unused.push_back(a);
    throw Error("cudaErrorMemoryAllocation", "out of memory: " + std::to_string(bytes) + " bytes");
  }
  std::memset(a->begin - kFilled, kPattern, kFilled);
  std::memset(a->begin + bytes, kPattern, kFilled);
  for (size_t i = at; i < at + slots; ++i) d.owner[i] = a;
  a->live = true;
  d.next = at + slots < d.owner.size() ? at + slots : 0;
  d.in_use += bytes;
  return a->begin;
}

void device_free(void* p) {
  if (p == nullptr) return;
  Device& d = device();
  const std::lock_guard lock(d.mutex);
  Allocation* a = allocation_at(p);
  if (a == nullptr || !a->live || a->begin != p)
    throw Error("cudaErrorInvalidValue", "freeing what is not a live allocation");
  char* from = page_down(a->begin - kFilled);
  const size_t bytes = size_t(page_up(a->begin + a->bytes + kFilled) - from);
  // Unmap the memory but keep the addresses, so that a late access is still attributed to this allocation.
  madvise(from, bytes, MADV_DONTNEED);
  mprotect(from, bytes, PROT_NONE);
  if (a->shadow != nullptr) munmap(a->shadow, words_of(*a) * sizeof(Cell) + 1);
  a->shadow = nullptr;
  a->live = false;
  ++device_frees;
  d.in_use -= a->bytes;
}

Cell* shadow_of(Allocation& a) {
  if (a.shadow != nullptr) return a.shadow;
  const std::lock_guard lock(device().mutex);
  if (a.shadow != nullptr) return a.shadow;
  void* p = mmap(nullptr, words_of(a) * sizeof(Cell) + 1, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw Error("cudaErrorMemoryAllocation", "out of memory for watching " + a.name);
  a.shadow = static_cast<Cell*>(p);
  return a.shadow;
}

void mark_defined(void* p, size_t bytes, bool defined) {
  Allocation* a = global_at(p);
  if (a == nullptr || !a->live || bytes == 0 || (!watching && a->shadow == nullptr)) return;
  Cell* cells = shadow_of(*a);
  const size_t from = size_t(static_cast<char*>(p) - a->begin), to = from + bytes;
  for (size_t w = from / 4; w < (to + 3) / 4; ++w) {
    const size_t first = w * 4 < from ? from - w * 4 : 0, last = std::min<size_t>(to - w * 4, 4);
    const auto mask = uint8_t((1u << last) - (1u << first));
    if (defined)
      cells[w].defined |= mask;
    else
      cells[w].defined &= uint8_t(~mask);
  }
}

bool unset_words_exist = false;

void find_unset(const Allocation& a, size_t offset, size_t bytes) {
  if (!unset_words_exist || a.shadow == nullptr) return;
  for (size_t word = (offset + 3) / 4; word * 4 + 4 <= offset + bytes; ++word)
    if (is_unset(a.begin + word * 4) || (a.shadow[word].split != 0 && is_unset_shifted(a.begin + word * 4)))
      a.shadow[word].defined = 0;
}

bool is_behind_text(const Allocation& a, size_t offset) {
  return is_behind_text(a.begin, a.begin + offset, [&](const char* q) {
    const auto at = size_t(q - a.begin);
    if (a.shadow == nullptr) return a.home != Home::device;
    return (a.shadow[at / 4].defined >> (at % 4) & 1) != 0;
  });
}

void each_undefined(const Allocation& a, size_t offset, size_t bytes,
                    const std::function<void(size_t offset, size_t bytes)>& each) {
  if (a.shadow == nullptr) return each(offset, bytes);
  size_t begin = offset, at = offset;
  bool undefined = false;
  for (const size_t end = offset + bytes; at < end; ++at) {
    if (at % 4 == 0 && end - at >= 4 && undefined == (a.shadow[at / 4].defined == 0) &&
        (undefined || a.shadow[at / 4].defined == 0xF)) {
      at += 3;  // a whole word like those before
      continue;
    }
    const bool now = (a.shadow[at / 4].defined >> (at % 4) & 1) == 0;
    if (now == undefined) continue;
    if (undefined) each(begin, at - begin);
    undefined = now;
    begin = at;
  }
  if (undefined) each(begin, offset + bytes - begin);
}

std::string guards_broken(const Allocation& a) {
  for (size_t i = 0; i < kFilled; ++i) {
    if (static_cast<unsigned char>(a.begin[a.bytes + i]) != kPattern)
      return a.name + " was written " + std::to_string(i) + " bytes past its end";
    if (static_cast<unsigned char>(*(a.begin - 1 - i)) != kPattern)
      return a.name + " was written " + std::to_string(i + 1) + " bytes before its beginning";
  }
  return "";
}

namespace {
/// Calls `each(page)` for the pages of a range that no live allocation, nor its filled guards, lies in.
template <typename Each>
bool each_closed_page(char* p, size_t bytes, Each each) {
  for (char* page = page_down(p); page < p + bytes; page += kPage) {
    if (!is_device(page)) return false;
    const Allocation* a = allocation_at(page);
    const bool open = a != nullptr && a->live && page >= page_down(a->begin - kFilled) &&
                      page < page_up(a->begin + a->bytes + kFilled);
    if (!open && !each(page)) return false;
  }
  return true;
}
}  // namespace

bool open_pages(char* p, size_t bytes) {
  return each_closed_page(p, bytes,
                          [](char* page) { return mprotect(page, kPage, PROT_READ | PROT_WRITE) == 0; });
}

void close_pages(char* p, size_t bytes) {
  each_closed_page(p, bytes, [](char* page) {
    madvise(page, kPage, MADV_DONTNEED);
    return mprotect(page, kPage, PROT_NONE) == 0;
  });
}

size_t device_bytes_in_use() { return device().in_use; }

std::vector<const Allocation*> live_allocations() {
  const std::lock_guard lock(device().mutex);
  std::vector<const Allocation*> list;
  for (const Allocation& a : device().allocations)
    if (a.live) list.push_back(&a);
  return list;
}

namespace {
void require_inside(const void* p, size_t bytes, const char* what) {
  const Allocation* a = allocation_at(p);
  const auto* c = static_cast<const char*>(p);
  if (a == nullptr || !a->live || c < a->begin || c + bytes > a->begin + a->bytes)
    throw Error("cudaErrorInvalidValue", std::string(what) + " of " + std::to_string(bytes) +
                                             " bytes that are not all in one live allocation");
}
}  // namespace

void device_fill_zero(void* p, size_t bytes) {
  if (bytes == 0) return;
  require_inside(p, bytes, "filling");
  std::memset(p, 0, bytes);
  mark_defined(p, bytes, true);
}

void device_copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  require_inside(from, bytes, "copying from");
  require_inside(to, bytes, "copying to");
  std::memmove(to, from, bytes);
  mark_defined(to, bytes, true);
}

void device_upload(void* device, const void* host, size_t bytes) {
  if (bytes == 0) return;
  require_inside(device, bytes, "copying to");
  std::memcpy(device, host, bytes);
  mark_defined(device, bytes, true);
}

void device_download(void* host, const void* device, size_t bytes) {
  if (bytes == 0) return;
  require_inside(device, bytes, "copying from");
  std::memcpy(host, device, bytes);
}

// One pool per host thread, since variants are checked concurrently.
namespace {
struct ScratchPool {
  std::vector<Scratch> list;
  ~ScratchPool() {
    for (const Scratch& s : list) device_free(s.p);
  }
};
thread_local ScratchPool pool;
}  // namespace

void* scratch_take(size_t bytes) {
  bytes = std::max<size_t>(bytes, 1);
  for (Scratch& s : pool.list)
    if (!s.taken && s.bytes == bytes) {
      s.taken = true;
      allocation_at(s.p)->given_back = false;
      mark_defined(s.p, bytes, false);
      return s.p;
    }
  // Keep few: sizes change from shape to shape.
  if (pool.list.size() >= 16)
    for (size_t i = 0; i < pool.list.size(); ++i)
      if (!pool.list[i].taken) {
        device_free(pool.list[i].p);
        pool.list.erase(pool.list.begin() + std::ptrdiff_t(i));
        break;
      }
  auto* p = static_cast<char*>(device_alloc(bytes, "scratch"));
  std::memset(p, 0xFF, bytes);
  pool.list.push_back({p, bytes, true});
  return p;
}

void scratch_give(void* p) {
  for (Scratch& s : pool.list) {
    if (s.p != p) continue;
    s.taken = false;
    std::memset(s.p, 0xFF, s.bytes);  // NaN: no run may rely on an earlier run's contents
    allocation_at(s.p)->given_back = true;
  }
}

}  // namespace klab::simt
