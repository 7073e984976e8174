// How many threads share a row: one rule for all CUDA kernels that reduce rows, made for the number of multiprocessors.
//
//   rows of up to 1,024 columns          a warp a row: 32 numbers a lane, kept in registers, no barrier
//   longer, and the rows fill the GPU    a block a row
//   longer, and they do not              a grid a row: `parts` blocks have a part of it each, and a second pass joins these
//
// Rows fill a GPU if at least 7 of 10 multiprocessors have one in the last round too: 128 rows on 132 do, 4 or 140 do not.
#pragma once

#include <algorithm>
#include <cstdint>

namespace klab::rows {

constexpr int64_t kWarpColumns = 1024;   // the most that a warp keeps: 32 a lane
constexpr int64_t kGridColumns = 16384;  // shorter rows take less time than the launch of a second kernel
constexpr int64_t kPartColumns = 4096;  // the least for a block: 256 threads with four loads of 16 bytes each

enum class Sharers { warp, block, grid };

struct Plan {
  Sharers by;
  int threads;     // of a block
  unsigned parts;  // blocks of a row; of a warp's: 1
  unsigned grid;   // blocks of the launch
};

/// Blocks of `each` that `work` needs.
inline unsigned blocks_of(int64_t work, int64_t each) { return unsigned((work + each - 1) / each); }

/// Returns whether blocks of a row each leave few multiprocessors idle.
inline bool fill(int64_t n, int multiprocessors) {
  const int64_t rounds = (n + multiprocessors - 1) / multiprocessors;
  return 10 * n >= 7 * rounds * multiprocessors;
}

/// Plans for n >= 1 rows of c >= 1 columns. Blocks are as large as it takes to have 2,048 threads on a multiprocessor, and as
/// small as that allows: fewer threads wait for each other.
inline Plan plan(int64_t n, int64_t c, int multiprocessors) {
  const int64_t each = (n + multiprocessors - 1) / multiprocessors;  // rows of a multiprocessor
  if (c <= kWarpColumns) {
    const int64_t warps = std::clamp<int64_t>(each, 1, 8);
    return {Sharers::warp, int(32 * warps), 1, blocks_of(n, warps)};
  }
  if (c < kGridColumns || fill(n, multiprocessors)) {
    const int threads = each <= 2 ? 1024 : each <= 4 ? 512 : 256;
    return {Sharers::block, threads, 1, unsigned(n)};
  }
  const int64_t parts = std::clamp<int64_t>(4 * multiprocessors / n, 2, c / kPartColumns);
  return {Sharers::grid, 256, unsigned(parts), unsigned(parts * n)};
}

/// Rows cut into `count` chunks of `each`, the last of what is left; one of none for no rows.
struct Chunks {
  int64_t count, each;
};

/// Cuts n rows so that tiles, `across` side by side, are four blocks a multiprocessor, but no chunk has fewer than `least` rows.
inline Chunks chunks_of(int64_t n, int64_t across, int64_t least, int multiprocessors) {
  const int64_t wanted = std::max<int64_t>(4 * multiprocessors / across, 1);
  const int64_t each = std::max<int64_t>({(n + wanted - 1) / wanted, std::min(least, n), 1});
  return {std::max<int64_t>(blocks_of(n, each), 1), each};
}

}  // namespace klab::rows
