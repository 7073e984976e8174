// Turns counts into places, for stable splits: where the items of each chunk go that belong to each column.
//
// counts[chunk,column] becomes the number of items in all earlier columns, and in this column of earlier chunks. A block has
// 32 columns and a warp for each thirty-second of the chunks, so that requests are whole lines; a look back over blocks adds
// up the columns before.
#pragma once

#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"

namespace klab::cuda {
namespace {  // shared memory must be each file's own

constexpr int kPlacers = 1024, kPlacedColumns = 32;  // threads and columns of a block

/// Replaces the counts by places, and calls begins(column, place of its first item, its number of items) for each column, by
/// one thread. All threads of (columns + 31)/32 blocks of kPlacers call it once; chunks times columns are below 2^31.
template <class Begins>
__device__ __forceinline__ void counts_to_places(unsigned* counts, int chunks, int columns, LookBack back,
                                                 Begins begins) {
  constexpr int kAhead = 8;  // counts that a thread has loaded before it stores a place
  __shared__ unsigned parts[32][kPlacedColumns + 1], of_columns[kPlacedColumns];
  const auto add = [](unsigned a, unsigned b) { return a + b; };
  const int lane = int(threadIdx.x) % 32, row = int(threadIdx.x) / 32, share = (chunks + 31) / 32;
  const unsigned ticket = back.take_tile();
  const int column = int(ticket) * kPlacedColumns + lane, first = row * share;
  const int end = column < columns ? min(first + share, chunks) : first;
  unsigned sum = 0;
#pragma unroll 8
  for (int c = first; c < end; ++c) sum += counts[c * columns + column];
  parts[row][lane] = sum;
  __syncthreads();
  const unsigned own = parts[lane][row], upto = scan_warp(own, add);
  parts[lane][row] = upto - own;
  if (lane == 31) of_columns[row] = upto;
  __syncthreads();
  if (row == 0) {
    const unsigned mine = of_columns[lane], ends = scan_warp(mine, add);
    of_columns[lane] = back.sum_before(ticket, __shfl_sync(~0U, ends, 31), add) + ends - mine;
    if (column < columns) begins(column, of_columns[lane], mine);
  }
  __syncthreads();
  unsigned to = of_columns[lane] + parts[row][lane], there[kAhead];
  for (int c = first; c < end; c += kAhead) {
#pragma unroll
    for (int k = 0; k < kAhead; ++k) there[k] = c + k < end ? counts[(c + k) * columns + column] : 0;
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (c + k < end) counts[(c + k) * columns + column] = to;
      to += there[k];
    }
  }
}

}  // namespace
}  // namespace klab::cuda
