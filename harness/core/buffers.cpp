#include "harness/core/buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "harness/core/kept_mappings.h"

namespace klab {
namespace {

constexpr int64_t kFence = 256;       // bytes on each side; a multiple of every vector width in use
constexpr int64_t kWideFence = 4096;  // at most, for guarded pages
constexpr int64_t kHugePage = 2 << 20;
constexpr int kMarks = 63;  // number of distinct marks

std::string bytes_text(int64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

}  // namespace

void Buffer::Free::operator()(std::byte* p) const {
  if (mapped) {
    keep_or_unmap({p, mapped});
  } else {
    ::operator delete(p, std::align_val_t(64));
  }
}

// Returns the fence's byte at an address. The pattern depends on the address, so misaligned tensors see whole
// elements of it. 0x7F81 to 0x7FBF are NaN as f16 and bf16, and two of them form a signaling NaN as f32.
// Adding to that changes it too (it becomes quiet).
std::byte Buffer::mark(const std::byte* at) const {
  return reinterpret_cast<uintptr_t>(at) % 2 ? std::byte{0x7F} : std::byte{low_};
}

// Returns a fence's worth of marks for that address.
const std::byte* Buffer::marks(const std::byte* at) const {
  using Marks = std::array<std::byte, kWideFence + 2>;
  static const auto all = [] {
    auto list = std::make_unique<std::array<Marks, kMarks>>();
    for (int k = 0; k < kMarks; ++k)
      for (size_t i = 0; i < (*list)[size_t(k)].size(); ++i)
        (*list)[size_t(k)][i] = i % 2 ? std::byte{0x7F} : std::byte(0x81 + k);
    return list;
  }();
  return (*all)[size_t(low_ - 0x81)].data() + reinterpret_cast<uintptr_t>(at) % 2;
}

Buffer::Buffer(int64_t bytes, int64_t misalign, int kin, GuardPlacement placement)
    : bytes_(bytes), front_(kFence), back_(kFence), low_(uint8_t(0x81 + kin % kMarks)) {
  const size_t total = size_t(kFence + misalign + bytes + kFence + 64);
  if (placement != GuardPlacement::fenced) {
    pages_ = std::make_unique<GuardedPages>(misalign + bytes + kFence);
    begin_ = placement == GuardPlacement::from_page ? pages_->begin() + misalign : pages_->end() - bytes;
    if (placement == GuardPlacement::near_page)
      begin_ -= (reinterpret_cast<uintptr_t>(begin_) - uintptr_t(misalign)) % 64;
    front_ = std::min<int64_t>(kWideFence, begin_ - pages_->begin());
    back_ = std::min<int64_t>(kWideFence, pages_->end() - (begin_ + bytes_));
  } else if (bytes >= 2 * kHugePage) {
    // Request huge pages for large tensors, so that timings show a variant's access pattern and not the page
    // size that the allocator happened to get.
    Mapping mapping = take_kept(total + kHugePage);
    if (mapping.begin == nullptr) {
      mapping.bytes = total + kHugePage;
      mapping.begin =
          mmap(nullptr, mapping.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mapping.begin == MAP_FAILED) throw std::bad_alloc();
      madvise(mapping.begin, mapping.bytes, MADV_HUGEPAGE);
    }
    void* const p = mapping.begin;
    memory_ = {static_cast<std::byte*>(p), Free{mapping.bytes}};
    const auto raw = reinterpret_cast<uintptr_t>(p);
    const uintptr_t aligned = (raw + uintptr_t(kHugePage) - 1) / uintptr_t(kHugePage) * uintptr_t(kHugePage);
    // Begin the data one fence after a huge-page boundary if that fits, which it always should.
    begin_ = reinterpret_cast<std::byte*>(aligned) + kFence + misalign;
    if (begin_ + bytes + kFence > static_cast<std::byte*>(p) + total + kHugePage)
      begin_ = static_cast<std::byte*>(p) + kFence + misalign;
  } else {
    memory_ = {static_cast<std::byte*>(::operator new(total, std::align_val_t(64))), Free{0}};
    begin_ = memory_.get() + kFence + misalign;
  }
  if (front_ > 0) std::memcpy(begin_ - front_, marks(begin_ - front_), size_t(front_));
  if (back_ > 0) std::memcpy(begin_ + bytes_, marks(begin_ + bytes_), size_t(back_));
}

void Buffer::read_only(bool yes) {
  if (pages_ != nullptr) pages_->read_only(yes);
}

std::string Buffer::place_of(const std::byte* at) const {
  constexpr int64_t kNear = 1 << 20;
  if (pages_ == nullptr || at < pages_->begin() - kNear || at >= pages_->end() + kNear) return "";
  if (at < begin_) return bytes_text(begin_ - at) + " before its beginning";
  if (at < begin_ + bytes_) return bytes_text(at - begin_) + " behind its beginning";
  return at == begin_ + bytes_ ? "right behind its end"
                               : bytes_text(at - (begin_ + bytes_)) + " behind its end";
}

void Buffer::poison() {
  if (bytes_ > 0) std::memset(begin_, 0xFF, size_t(bytes_));
}

bool Buffer::intact(std::string* where) const {
  std::byte *before = begin_ - front_, *behind = begin_ + bytes_;
  if (front_ > 0 && std::memcmp(before, marks(before), size_t(front_)) != 0) {
    int64_t i = 1;
    while (begin_[-i] == mark(begin_ - i)) ++i;
    if (where) *where = bytes_text(i) + " before its beginning";
    return false;
  }
  if (back_ > 0 && std::memcmp(behind, marks(behind), size_t(back_)) != 0) {
    int64_t i = 0;
    while (behind[i] == mark(behind + i)) ++i;
    if (where) *where = i == 0 ? "right behind its end" : bytes_text(i) + " behind its end";
    return false;
  }
  return true;
}

Tensors::Tensors(const std::vector<TensorSpec>& specs, View view, int64_t misalign) {
  for (const TensorSpec& spec : specs)
    add(spec, view, misalign / size_of(spec.element), GuardPlacement::fenced);
}

Tensors::Tensors(const std::vector<TensorSpec>& specs, View view, std::span<const int64_t> elements,
                 GuardPlacement placement) {
  for (size_t k = 0; k < specs.size(); ++k) add(specs[k], view, elements[k], placement);
}

void Tensors::add(const TensorSpec& spec, View view, int64_t off, GuardPlacement placement) {
  const bool widened = view == View::reference && spec.element == Element::f32;
  const int64_t width = widened ? 8 : size_of(spec.element);
  buffers_.emplace_back(volume(spec.dims) * width, off * width, int(buffers_.size()), placement);
  pointers_.push_back(buffers_.back().data());
}

int64_t Tensors::bytes() const {
  int64_t total = 0;
  for (const Buffer& b : buffers_) total += b.bytes();
  return total;
}

}  // namespace klab
