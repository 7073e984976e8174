// voxel_sh_bwd.cpu.04_threads: every row has one owner.
//
// CHANGE    rows are divided between threads, not points: a first pass, divided by points, notes the lowest
//           and the highest row of each point's corners and counts points by row; then each thread has a
//           range of rows with its part of the points, goes through all notes, and makes the additions within
//           its range.
// EXPECT    nothing is atomic and no sum is made twice. Rows are numbered by their place in space, so few
//           points lie in two ranges. Near the number of cores for a few of them; all threads read all notes.
// NUMERICS  as the parent: each row's contributions in the order of the points, at any number of threads.
#include <omp.h>

#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

#ifndef KLAB_VOXEL_SH_BWD_ROWS
#define KLAB_VOXEL_SH_BWD_ROWS
namespace klab {
namespace {

/// A range of rows.
struct Rows {
  int32_t begin, end;
};

}  // namespace
}  // namespace klab
#endif

KLAB_SIMD_BEGIN();

#include "kernels/voxel_sh_bwd/cpu/02_rows-inl.h"

constexpr int64_t kBlock = 32;  // points

void note(const VoxelShBwd::Args<float>& x, int64_t begin, int64_t end, Rows* notes) {
  for (int64_t i = begin; i < end; ++i) {
    const VoxelCorners at = voxel_corners(x.positions, x.links, x.shape.n, x.shape.grid, i);
    Rows rows{INT32_MAX, -1};
    for (const int32_t row : at.row) {
      if (row < 0) continue;
      rows.begin = std::min(rows.begin, row);
      rows.end = std::max(rows.end, row + 1);
    }
    notes[i] = rows;
  }
}

template <int kBasis>
HWY_INLINE void ask_for(const VoxelShBwd::Args<float>& x, const VoxelCorners& at) {
  constexpr int64_t kLine = 16, kNumbers = 3 * kBasis;
  for (const int32_t row : at.row) {
    if (row < 0) continue;
    __builtin_prefetch(x.d_density + row, 1);
    for (int64_t f = 0; f < kNumbers; f += kLine)
      __builtin_prefetch(x.d_coefficients + row * kNumbers + f, 1);
  }
}

template <int kBasis>
HWY_INLINE void add_point(const VoxelShBwd::Args<float>& x, const VoxelCorners& at, int64_t i, Rows own) {
  HWY_ALIGN float number[27];
  if constexpr (kBasis > 0) numbers_of<kBasis>(x, i, number);
  for (int c = 0; c < 8; ++c) {
    if (at.row[c] < own.begin || at.row[c] >= own.end) continue;
    x.d_density[at.row[c]] += at.weight[c] * x.d_raw[i];
    if constexpr (kBasis > 0)
      add_row<3 * kBasis>(at.weight[c], number, x.d_coefficients + at.row[c] * int64_t(3 * kBasis));
  }
}

/// Makes the additions to the rows `own`.
template <int kBasis>
void points(const VoxelShBwd::Args<float>& x, const Rows* notes, Rows own) {
  VoxelCorners corners[kBlock];
  int64_t mine[kBlock];
  for (int64_t next = 0; next < x.shape.n;) {
    int64_t count = 0;
    for (; next < x.shape.n && count < kBlock; ++next) {
      if (notes[next].begin >= own.end || notes[next].end <= own.begin) continue;
      corners[count] = voxel_corners(x.positions, x.links, x.shape.n, x.shape.grid, next);
      ask_for<kBasis>(x, corners[count]);
      mine[count++] = next;
    }
    for (int64_t k = 0; k < count; ++k) add_point<kBasis>(x, corners[k], mine[k], own);
  }
}

void own_points(const VoxelShBwd::Args<float>& x, const Rows* notes, Rows own) {
  switch (x.shape.basis) {
    case 0:
      return points<0>(x, notes, own);
    case 1:
      return points<1>(x, notes, own);
    case 4:
      return points<4>(x, notes, own);
    default:
      return points<9>(x, notes, own);
  }
}

KLAB_SIMD_ONCE(note, own_points);

#if HWY_ONCE
constexpr int64_t kBuckets = 1024;  // that rows are counted in

/// Returns the begin of each thread's range, and the end of the last one: as many points in each.
std::vector<int32_t> borders(const std::vector<Rows>& notes, int64_t rows, int threads) {
  const int64_t width = rows / kBuckets + 1;
  std::vector<int64_t> counts(size_t(kBuckets + 1));
  for (const Rows& note : notes)
    if (note.end > 0) ++counts[size_t(note.begin / width)];
  std::vector<int32_t> begins = {0};
  int64_t seen = 0;
  for (int64_t b = 0; b < kBuckets; ++b) {
    seen += counts[size_t(b)];
    while (int(begins.size()) < threads && seen * threads >= int64_t(begins.size()) * int64_t(notes.size()))
      begins.push_back(int32_t(std::min((b + 1) * width, rows)));
  }
  begins.resize(size_t(threads) + 1, int32_t(rows));
  return begins;
}

void run(const VoxelShBwd::Args<float>& x) {
  constexpr int64_t kStretch = 1024;  // points
  const int64_t n = x.shape.n;
  const int threads = n > kStretch ? omp_get_max_threads() : 1;
  std::vector<Rows> notes(size_t(n), Rows{0, 0});
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t begin = 0; begin < n; begin += kStretch)
    HWY_DYNAMIC_DISPATCH(note)(x, begin, std::min(n, begin + kStretch), notes.data());
  const std::vector<int32_t> begins = borders(notes, x.shape.rows, threads);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; ++t)
    HWY_DYNAMIC_DISPATCH(own_points)(x, notes.data(), {begins[size_t(t)], begins[size_t(t) + 1]});
}

KLAB_VARIANT(VoxelShBwd, {.run = run,
                          .parent = "03_prefetch",
                          .numerics = {.growth = Growth::linear},
                          .tiles = {8, 32, 1024},
                          .expect = {.shape = {1 << 17, 128, 1 << 18, 9}, .over_parent = 1.4}});
KLAB_SIMD_CLOSE();
#endif
