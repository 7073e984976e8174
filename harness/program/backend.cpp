#include "harness/program/backend.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>

#include "harness/program/memory.h"

namespace klab {

namespace {

constexpr size_t kSmall = 1 << 20, kLine = 64;  // bytes

}  // namespace

Backend cpu_backend() {
  auto arrays = std::make_shared<std::map<void*, Array<uint8_t>>>();
  Backend b;
  b.name = "cpu";
  b.alloc = [arrays](size_t bytes, const std::string&) -> void* {
    // An Array takes whole large pages: many small tensors would waste memory.
    if (bytes < kSmall) {
      announce_allocation(int64_t(bytes));
      void* p = std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
      if (p == nullptr) throw std::bad_alloc();
      return std::memset(p, 0, bytes);
    }
    Array<uint8_t> array{int64_t(bytes)};
    void* p = array.data();
    arrays->emplace(p, std::move(array));
    return p;
  };
  b.free = [arrays](void* p, size_t bytes) {
    if (bytes < kSmall)
      std::free(p);
    else
      arrays->erase(p);
  };
  b.upload = b.download = [](void* to, const void* from, size_t bytes) {
    if (to != from) std::memcpy(to, from, bytes);
  };
  b.fill = [](void* p, uint8_t byte, size_t bytes) {
    constexpr size_t kPiece = 1 << 16;
    auto* begin = static_cast<char*>(p);
#pragma omp parallel for schedule(static) if (bytes > 4 * kPiece)
    for (size_t at = 0; at < bytes; at += kPiece) std::memset(begin + at, byte, std::min(kPiece, bytes - at));
  };
  b.bind = [](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
    return v.bind(shape, pointers);
  };
  b.wait = [] {};
  return b;
}

}  // namespace klab
