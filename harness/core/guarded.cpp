#include "harness/core/guarded.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace klab {
namespace {

constexpr size_t kGuard = 1 << 20;        // bytes on each side; unmapped pages cost only addresses
constexpr size_t kSlots = 256;            // tensors at one time
constexpr size_t kMostFaults = 64;        // pages that are opened in one run
constexpr size_t kKeptBytes = 256 << 20;  // in the pool
constexpr uintptr_t kNull = 1 << 16;      // addresses below are null pointers with an offset

size_t page_size() {
  static const auto size = size_t(sysconf(_SC_PAGESIZE));
  return size;
}

size_t pages_up(size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }

/// Read by the signal handler: plain atomics, since it may interrupt anything.
struct Slot {
  std::atomic<std::byte*> begin{nullptr};  // null: free
  std::atomic<std::byte*> end{nullptr};
  std::atomic<bool> read_only{false};
};
std::array<Slot, kSlots> slots;

struct Opened {
  MemoryFault fault;
  std::byte* page = nullptr;
  bool stray = false;  // nothing was mapped there
};
std::array<Opened, kMostFaults> opened;
std::atomic<size_t> opened_count{0};
std::atomic<bool> watching{false};
std::atomic_flag busy =
    ATOMIC_FLAG_INIT;  // held during a few system calls, by handlers and by take_memory_faults()

struct Kept {
  std::byte *begin, *end;
};
std::mutex pool_mutex;
std::multimap<size_t, Kept> pool;
size_t pool_bytes = 0;

MemoryFault::Access access_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return machine.gregs[REG_ERR] & 2 ? MemoryFault::Access::write : MemoryFault::Access::read;
#elif defined(__aarch64__)
  // The context holds a list of records. Bit 6 of the exception syndrome's record is set for writes.
  const unsigned char* at = machine.__reserved;
  for (uint32_t head[2]; at + sizeof head <= machine.__reserved + sizeof machine.__reserved; at += head[1]) {
    std::memcpy(head, at, sizeof head);
    if (head[0] == 0 || head[1] < sizeof head) break;
    if (head[0] != 0x45535201) continue;
    uint64_t syndrome = 0;
    std::memcpy(&syndrome, at + sizeof head, sizeof syndrome);
    return syndrome >> 6 & 1 ? MemoryFault::Access::write : MemoryFault::Access::read;
  }
  return MemoryFault::Access::unknown;
#else
  (void)machine;
  return MemoryFault::Access::unknown;
#endif
}

bool was_opened(const std::byte* page) {
  for (size_t i = 0; i < opened_count; ++i)
    if (opened[i].page == page) return true;
  return false;
}

/// Makes the page accessible and records the fault. Returns false if that is impossible.
bool open_page(std::byte* at, std::byte* page, const siginfo_t* info, const void* context) {
  // Another thread has opened the page, so the access can be retried, unless the signal is not about page
  // access.
  if (was_opened(page)) return info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR;
  if (opened_count == kMostFaults) return false;
  Opened entry{{at, access_of(context), false}, page, false};
  bool ours = false;
  for (const Slot& s : slots) {
    std::byte *begin = s.begin, *end = s.end;
    if (begin == nullptr || page < begin - kGuard || page >= end + kGuard) continue;
    ours = true;
    entry.fault.mapped = page >= begin && page < end;
    break;
  }
  if (ours) {
    if (mprotect(page, page_size(), PROT_READ | PROT_WRITE) != 0) return false;
  } else {
    if (info->si_code != SEGV_MAPERR || reinterpret_cast<uintptr_t>(at) < kNull) return false;
    entry.stray = true;
    if (mmap(page, page_size(), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) != page)
      return false;
  }
  opened[opened_count] = entry;
  ++opened_count;
  return true;
}

}  // namespace

const char* name_of(GuardPlacement placement) {
  switch (placement) {
    case GuardPlacement::fenced:
      return "between fences";
    case GuardPlacement::from_page:
      return "an unmapped page before each tensor";
    case GuardPlacement::to_page:
      return "an unmapped page right behind each tensor";
    case GuardPlacement::near_page:
      return "an unmapped page within 64 bytes behind each tensor";
  }
  return "?";
}

GuardedPages::GuardedPages(int64_t bytes) {
  size_t size = pages_up(size_t(bytes));
  // Round up to a few distinct sizes, so that the pool is effective; large ones keep their size.
  if (size < (1 << 20)) {
    size_t power = page_size();
    while (power < size) power *= 2;
    size = power;
  }
  const std::lock_guard lock(pool_mutex);
  if (const auto found = pool.find(size); found != pool.end()) {
    begin_ = found->second.begin;
    end_ = found->second.end;
    pool.erase(found);
    pool_bytes -= size;
  } else {
    void* p = mmap(nullptr, size + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(p) + kGuard;
    end_ = begin_ + size;
    if (mprotect(begin_, size, PROT_READ | PROT_WRITE) != 0) {
      munmap(p, size + 2 * kGuard);
      throw std::bad_alloc();
    }
  }
  for (slot_ = 0; slot_ < kSlots && slots[slot_].begin != nullptr; ++slot_) continue;
  if (slot_ == kSlots) {
    munmap(begin_ - kGuard, size + 2 * kGuard);
    throw std::bad_alloc();
  }
  slots[slot_].read_only = false;
  slots[slot_].end = end_;
  slots[slot_].begin = begin_;
}

GuardedPages::~GuardedPages() {
  read_only(false);
  const std::lock_guard lock(pool_mutex);
  slots[slot_].begin = nullptr;
  const auto size = size_t(end_ - begin_);
  if (pool_bytes + size > kKeptBytes) {
    munmap(begin_ - kGuard, size + 2 * kGuard);
    return;
  }
  pool.emplace(size, Kept{begin_, end_});
  pool_bytes += size;
}

void GuardedPages::read_only(bool yes) {
  if (slots[slot_].read_only.exchange(yes) == yes) return;
  mprotect(begin_, size_t(end_ - begin_), yes ? PROT_READ : PROT_READ | PROT_WRITE);
}

void watch_memory() {
  opened_count = 0;
  watching = true;
}

std::vector<MemoryFault> take_memory_faults() {
  watching = false;
  while (busy.test_and_set(std::memory_order_acquire)) continue;
  std::vector<MemoryFault> list;
  for (size_t i = 0; i < opened_count; ++i) {
    const Opened& o = opened[i];
    list.push_back(o.fault);
    if (o.stray) {
      munmap(o.page, page_size());
    } else if (!o.fault.mapped) {
      madvise(o.page, page_size(), MADV_DONTNEED);
      mprotect(o.page, page_size(), PROT_NONE);
    } else {
      for (const Slot& s : slots)
        if (s.begin != nullptr && o.page >= s.begin && o.page < s.end && s.read_only)
          mprotect(o.page, page_size(), PROT_READ);
    }
  }
  opened_count = 0;
  busy.clear(std::memory_order_release);
  return list;
}

bool mend_memory_fault(int signal, const siginfo_t* info, const void* context) {
  if (!watching || (signal != SIGSEGV && signal != SIGBUS) || info->si_code == SI_USER) return false;
  auto* at = static_cast<std::byte*>(info->si_addr);
  const auto address = reinterpret_cast<uintptr_t>(at);
  auto* page = at - address % page_size();
  while (busy.test_and_set(std::memory_order_acquire)) continue;
  const bool mended = open_page(at, page, info, context);
  busy.clear(std::memory_order_release);
  return mended;
}

}  // namespace klab
