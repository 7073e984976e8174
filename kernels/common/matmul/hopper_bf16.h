// A product of matrices of bf16 on Hopper: what matmul_bf16.cuda.05_persistent and matmul.cuda.12_persistent, which rounds its factors
// first, give to the frame of persistent.h.
#pragma once

#include "kernels/common/matmul/persistent.h"

namespace klab::hopper::bf16 {

constexpr int kColumns = 256, kDepth = 64;  // of a tile

namespace {  // a kernel is each file's own

constexpr int kBoxes = kColumns / kSwizzled;  // of a tile of B

struct Job {
  static constexpr int kColumns = bf16::kColumns, kDepth = bf16::kDepth, kStages = 4;
  static constexpr bool kScaled = false;
  using Sum = float;
  struct Tiles {
    __nv_bfloat16 a[persistent::kRows * kDepth];  // [row][p]
    __nv_bfloat16 b[kBoxes][kDepth * kSwizzled];  // [p][column]
  };

#if KLAB_HOPPER
  static __device__ __forceinline__ void fetch(Tiles& to, const CUtensorMap* map_a, const CUtensorMap* map_b,
                                               int i, int j, int p, uint64_t* full) {
    fetch_box(to.a, map_a, i, p, full);
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) fetch_box(to.b[box], map_b, p, j + box * kSwizzled, full);
  }

  /// 64 rows and 256 columns of a tile of C. A buffer is empty when the wgmma that read it is over, which is known one step
  /// later.
  static __device__ __forceinline__ void multiply(Sum (&sums)[kColumns / 8][4], persistent::Ring<Job>& ring,
                                                  int group, int steps) {
    int before = 0;
    for (int step = 0; step < steps; ++step, ring.next()) {
      const Tiles& tiles = ring.wait();
      const uint64_t a = describe_k_major(tiles.a + group * persistent::kGroupRows * kDepth);
      const uint64_t b = describe_n_major(tiles.b, sizeof(tiles.b[0]));
      multiply_begin();
#pragma unroll
      for (int p = 0; p < kDepth / 16; ++p)
        multiply_bf16(sums, a + p * kNextK, b + p * kNextRows, step + p > 0);
      multiply_commit();
      multiply_wait<1>();
      if (step > 0) ring.release(before);
      before = ring.stage;
    }
    multiply_wait<0>();
    ring.release(before);
    settle(sums);
  }
#endif
};

/// C[m,n] = A[m,k] B[k,n]. Rows of A and B begin at multiples of 16 bytes, `a_stride` and `b_stride` elements apart. Sizes are 1 or
/// more.
void multiply_matrices(const __nv_bfloat16* a, int64_t a_stride, const __nv_bfloat16* b, int64_t b_stride,
                       float* c, int64_t m, int64_t n, int64_t k) {
  persistent::multiply_matrices<Job>(map_of(a, m, a_stride, persistent::kRows),
                                     map_of(b, k, b_stride, kDepth), nullptr, c, m, n, k);
}

}  // namespace

}  // namespace klab::hopper::bf16
