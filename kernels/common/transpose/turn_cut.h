// How the last rungs of the transpose ladder cut a matrix into tiles for threads; explained in transpose.cpu.10_realign.
#pragma once

#include <algorithm>
#include <cstdint>

namespace klab {
namespace {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for
constexpr int64_t kBeyond = 1000000;  // elements from which on they are streamed

// About 1 / parts of `size`, a multiple of sixteen.
inline int64_t even_part(int64_t size, int64_t parts) { return ceil_div(ceil_div(size, parts), 16) * 16; }

// How the matrix is cut: tiles of `rows` x `cols` elements, numbered along the rows first.
struct Cut {
  int64_t rows, cols;
};

// A band; 4 kB of each input row.
constexpr Cut kBands{32, 1024};

// Panels at most as wide as any_tile can take, and tall, so that few lines are cut; the same number for each
// thread. A matrix too narrow for that is cut across.
inline Cut panels(int64_t m, int64_t n, int64_t threads) {
  constexpr int64_t kWide = 1024, kNarrow = 64, kTall = 8192, kShort = 256;
  const int64_t across = ceil_div(ceil_div(n, kWide), threads) * threads;
  const int64_t down = ceil_div(m, kTall);
  if (n / across >= kNarrow) return {even_part(m, down), even_part(n, across)};
  return {std::max(even_part(m, ceil_div(down, threads) * threads), kShort), kWide};
}

}  // namespace
}  // namespace klab
