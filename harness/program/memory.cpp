#include "harness/program/memory.h"

#include <sys/mman.h>

#include <new>

namespace klab {

template <class T>
Array<T>::Array(int64_t count) : size_(count) {
  constexpr int64_t page = 2 << 20;
  const int64_t bytes = (count * int64_t(sizeof(T)) + page - 1) / page * page;
  if (count == 0) return;
  // Mapped anew, so it is zero; over-mapped by one page so that it can begin on a huge page's border.
  void* raw = mmap(nullptr, size_t(bytes + page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + uintptr_t(page) - 1) / uintptr_t(page) * uintptr_t(page);
  if (aligned > begin) munmap(raw, aligned - begin);
  const uintptr_t tail = begin + uintptr_t(page) - aligned;
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + uintptr_t(bytes)), tail);
  auto* p = reinterpret_cast<T*>(aligned);
  madvise(p, size_t(bytes), MADV_HUGEPAGE);
  memory_ = {p, Unmap{bytes}};
}

template <class T>
void Array<T>::Unmap::operator()(T* p) const {
  munmap(p, size_t(bytes));
}

template class Array<float>;
template class Array<int32_t>;
template class Array<uint8_t>;

}  // namespace klab
