#include "harness/core/buffers.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace klab {
namespace {

constexpr int64_t kFence = 256;  // bytes on each side; a multiple of every vector width in use
constexpr int64_t kHugePage = 2 << 20;

}  // namespace

void Buffer::Free::operator()(std::byte* p) const {
  if (mapped) {
    munmap(p, mapped);
  } else {
    ::operator delete(p, std::align_val_t(64));
  }
}

// By address, so that misaligned tensors see whole elements of it. 0x7F81 to 0x7FBF are NaN as f16 and bf16,
// and twice that is a signaling NaN as f32: adding to it, too, changes it (it becomes quiet).
std::byte Buffer::mark(const std::byte* at) const {
  return reinterpret_cast<uintptr_t>(at) % 2 ? std::byte{0x7F} : std::byte{low_};
}

Buffer::Buffer(int64_t bytes, int64_t misalign, int kin) : bytes_(bytes), low_(uint8_t(0x81 + kin % 63)) {
  const size_t total = size_t(kFence + misalign + bytes + kFence + 64);
  if (bytes >= 2 * kHugePage) {
    // Large tensors ask for huge pages, so that a variant is timed on its access pattern and not on the page
    // size that the allocator happened to get.
    void* p = mmap(nullptr, total + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    madvise(p, total + kHugePage, MADV_HUGEPAGE);
    memory_ = {static_cast<std::byte*>(p), Free{total + kHugePage}};
    const auto raw = reinterpret_cast<uintptr_t>(p);
    const uintptr_t aligned = (raw + uintptr_t(kHugePage) - 1) / uintptr_t(kHugePage) * uintptr_t(kHugePage);
    // The data begin one fence behind a huge-page border when that fits, which it does by construction.
    begin_ = reinterpret_cast<std::byte*>(aligned) + kFence + misalign;
    if (begin_ + bytes + kFence > static_cast<std::byte*>(p) + total + kHugePage)
      begin_ = static_cast<std::byte*>(p) + kFence + misalign;
  } else {
    memory_ = {static_cast<std::byte*>(::operator new(total, std::align_val_t(64))), Free{0}};
    begin_ = memory_.get() + kFence + misalign;
  }
  for (std::byte* fence : {begin_ - kFence, begin_ + bytes_})
    for (int64_t i = 0; i < kFence; ++i) fence[i] = mark(fence + i);
}

void Buffer::poison() {
  if (bytes_ > 0) std::memset(begin_, 0xFF, size_t(bytes_));
}

bool Buffer::intact(std::string* where) const {
  for (int64_t i = kFence - 1; i >= 0; --i) {
    if (begin_[i - kFence] == mark(begin_ + i - kFence)) continue;
    if (where) *where = std::to_string(kFence - i) + " bytes before its beginning";
    return false;
  }
  for (int64_t i = 0; i < kFence; ++i) {
    if (begin_[bytes_ + i] == mark(begin_ + bytes_ + i)) continue;
    if (where) *where = i == 0 ? "right behind its end" : std::to_string(i) + " bytes behind its end";
    return false;
  }
  return true;
}

Tensors::Tensors(const std::vector<TensorSpec>& specs, View view, int64_t misalign) {
  for (const TensorSpec& spec : specs) add(spec, view, misalign / size_of(spec.element));
}

Tensors::Tensors(const std::vector<TensorSpec>& specs, View view, std::span<const int64_t> elements) {
  for (size_t k = 0; k < specs.size(); ++k) add(specs[k], view, elements[k]);
}

void Tensors::add(const TensorSpec& spec, View view, int64_t off) {
  const bool widened = view == View::reference && spec.element == Element::f32;
  const int64_t width = widened ? 8 : size_of(spec.element);
  buffers_.emplace_back(volume(spec.dims) * width, off * width, int(buffers_.size()));
  pointers_.push_back(buffers_.back().data());
}

int64_t Tensors::bytes() const {
  int64_t total = 0;
  for (const Buffer& b : buffers_) total += b.bytes();
  return total;
}

}  // namespace klab
