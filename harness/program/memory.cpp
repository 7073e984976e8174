#include "harness/program/memory.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>

#include "harness/program/counted_bytes.h"

namespace klab {
namespace {

/// Owners by their number; those of names that come up twice are one.
class Owners {
 public:
  int of(const char* name) {
    const std::scoped_lock lock(mutex_);
    for (int i = 0; i < count_; ++i)
      if (std::strcmp(all_[size_t(i)].name, name) == 0) return i;
    if (count_ == int(all_.size())) throw std::logic_error("too many owners of memory");
    all_[size_t(count_)].name = name;
    return count_++;
  }
  void take(int owner, int64_t bytes) {
    Owner& o = all_[size_t(owner)];
    const int64_t now = o.now += bytes;
    for (int64_t peak = o.peak; peak < now && !o.peak.compare_exchange_weak(peak, now);) {
    }
  }
  std::map<std::string, OwnedBytes> all() {
    const std::scoped_lock lock(mutex_);
    std::map<std::string, OwnedBytes> list;
    for (int i = 0; i < count_; ++i) list[all_[size_t(i)].name] = {all_[size_t(i)].now, all_[size_t(i)].peak};
    return list;
  }
  void forget_peaks() {
    const std::scoped_lock lock(mutex_);
    for (Owner& o : all_) o.peak = int64_t(o.now);
  }

 private:
  struct Owner {
    const char* name = "other";
    std::atomic<int64_t> now{0}, peak{0};
  };
  std::mutex mutex_;
  std::array<Owner, 32> all_;
  int count_ = 1;  // the first is "other"
};

// Never destroyed: Arrays of static objects are given back after everything else.
Owners& owners() {
  static Owners* const all = new Owners;
  return *all;
}

thread_local int current_owner = 0;

std::function<void(int64_t)>& hook() {
  static std::function<void(int64_t)> called;
  return called;
}

}  // namespace

MemoryOwner::MemoryOwner(const char* name) : before_(current_owner) { current_owner = owners().of(name); }
MemoryOwner::~MemoryOwner() { current_owner = before_; }

CountedBytes::CountedBytes() : owner_(current_owner) {}
CountedBytes::~CountedBytes() { set(0); }
void CountedBytes::set(int64_t bytes) {
  owners().take(owner_, bytes - bytes_);
  bytes_ = bytes;
}

std::map<std::string, OwnedBytes> memory_by_owner() { return owners().all(); }
void forget_memory_peaks() { owners().forget_peaks(); }

void set_allocation_hook(std::function<void(int64_t)> called) { hook() = std::move(called); }
void announce_allocation(int64_t bytes) {
  if (hook()) hook()(bytes);
}

template <class T>
Array<T>::Array(int64_t count) : size_(count) {
  constexpr int64_t page = 2 << 20;
  const int64_t bytes = (count * int64_t(sizeof(T)) + page - 1) / page * page;
  if (count == 0) return;
  announce_allocation(bytes);
  // Fresh memory is zero; over-mapped by one page so that it can begin on a huge page's border.
  void* raw = mmap(nullptr, size_t(bytes + page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + uintptr_t(page) - 1) / uintptr_t(page) * uintptr_t(page);
  if (aligned > begin) munmap(raw, aligned - begin);
  const uintptr_t tail = begin + uintptr_t(page) - aligned;
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + uintptr_t(bytes)), tail);
  auto* p = reinterpret_cast<T*>(aligned);
  madvise(p, size_t(bytes), MADV_HUGEPAGE);
  owners().take(current_owner, bytes);
  memory_ = {p, Unmap{bytes, current_owner}};
}

template <class T>
void Array<T>::Unmap::operator()(T* p) const {
  munmap(p, size_t(bytes));
  owners().take(owner, -bytes);
}

template class Array<float>;
template class Array<int8_t>;
template class Array<uint16_t>;
template class Array<int32_t>;
template class Array<uint8_t>;

}  // namespace klab
