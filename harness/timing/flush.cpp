#include "harness/timing/flush.h"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace klab {

#if defined(__x86_64__)
namespace {

constexpr int64_t kLine = 64;    // bytes
constexpr int64_t kPart = 4096;  // that a thread takes at a time

bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBit = 1U << 23;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kBit) != 0;
}

/// Evictions of different lines overlap; a fence behind them waits for all.
__attribute__((target("clflushopt"))) void flush_at_once(const char* from, const char* end) {
  for (; from < end; from += kLine) _mm_clflushopt(const_cast<char*>(from));
}

void flush_in_order(const char* from, const char* end) {
  for (; from < end; from += kLine) _mm_clflush(from);
}

}  // namespace

bool can_flush() { return true; }  // clflush belongs to every x86-64

void flush_from_caches(const void* begin, int64_t bytes) {
  if (bytes <= 0) return;
  static const bool at_once = has_clflushopt();
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const auto* const first = static_cast<const char*>(begin) - address % kLine;
  const auto* const end = static_cast<const char*>(begin) + bytes;
  const int64_t parts = (end - first + kPart - 1) / kPart;
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t part = 0; part < parts; ++part) {
      const char* const from = first + part * kPart;
      (at_once ? flush_at_once : flush_in_order)(from, std::min(from + kPart, end));
    }
    _mm_mfence();
  }
}
#else
bool can_flush() { return false; }

void flush_from_caches(const void*, int64_t) {}
#endif

}  // namespace klab
