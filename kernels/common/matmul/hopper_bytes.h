// Products of matrices of bytes on Hopper: what the rungs of int8 and e4m3 have in common in the frame of persistent.h. Tiles are 128
// bytes along k for both factors, and each column of C has a scale.
#pragma once

#include "kernels/common/matmul/aligned_rows.h"
#include "kernels/common/matmul/persistent.h"
#include "kernels/common/matmul/turn_bytes.h"

namespace klab::hopper {

/// All of a Job but multiply().
template <int columns, int stages, class S>
struct ByteJob {
  static constexpr int kColumns = columns, kDepth = 128, kStages = stages;
  static constexpr bool kScaled = true;
  using Sum = S;
  struct Tiles {
    uint8_t a[persistent::kRows * kDepth];  // [row][p]
    uint8_t b[columns * kDepth];            // [column][p]
  };

#if KLAB_HOPPER
  static __device__ __forceinline__ void fetch(Tiles& to, const CUtensorMap* map_a, const CUtensorMap* map_b,
                                               int i, int j, int p, uint64_t* full) {
    fetch_box(to.a, map_a, i, p, full);
    fetch_box(to.b, map_b, j, p, full);
  }
#endif
};

/// C = A Bt^T, columns scaled: rows of A[m,k] and Bt[n,k] are `stride` bytes apart, a multiple of 16. Sizes are 1 or more.
template <class Job>
void multiply_rows_of_bytes(const uint8_t* a, const uint8_t* turned, int64_t stride, const float* scale,
                            float* c, int64_t m, int64_t n, int64_t k) {
  persistent::multiply_matrices<Job>(map_of(a, m, stride, persistent::kRows),
                                     map_of(turned, n, stride, Job::kColumns), scale, c, m, n, k);
}

/// Two launches: B is turned, so that both factors lie along k, and the products are made. Sizes are 1 or more.
template <class Job>
void multiply_matrices_of_bytes(const void* a, const void* b, const float* scale, float* c, int64_t m,
                                int64_t n, int64_t k) {
  const AlignedRows<uint8_t> rows(a, m, k);
  cuda::Scratch columns(size_t(n * rows.stride()));
  turn_bytes(static_cast<const uint8_t*>(b), k, n, rows.stride(), columns.as<uint8_t>());
  multiply_rows_of_bytes<Job>(rows.data(), columns.as<uint8_t>(), rows.stride(), scale, c, m, n, k);
}

/// One launch, of a B that lies along k already; matrices whose rows do not begin at multiples of 16 bytes are copied before.
template <class Job>
void multiply_matrices_along_k(const void* a, const void* turned, const float* scale, float* c, int64_t m,
                               int64_t n, int64_t k) {
  const AlignedRows<uint8_t> rows(a, m, k), columns(turned, n, k);
  multiply_rows_of_bytes<Job>(rows.data(), columns.data(), rows.stride(), scale, c, m, n, k);
}

}  // namespace klab::hopper
