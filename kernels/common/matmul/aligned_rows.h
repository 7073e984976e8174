// Matrices of bfloat16 whose rows begin at multiples of 16 bytes, for copies of 16 bytes and for TMA.
#pragma once

#include <optional>

#include "kernels/common/cuda.h"

namespace klab {
namespace {

constexpr int kAlignThreads = 256, kAlignedElements = 8;  // 16 bytes

/// Copies [.., columns] into rows of `stride` elements, zeros behind the columns.
__global__ void __launch_bounds__(kAlignThreads)
    widen_rows(const __nv_bfloat16* __restrict__ from, int64_t columns, int64_t stride, int64_t total,
               __nv_bfloat16* __restrict__ to) {
  const int64_t at = int64_t(blockIdx.x) * kAlignThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t i = at / stride, j = at % stride;
  to[at] = j < columns ? from[i * columns + j] : __float2bfloat16(0.0F);
}

/// A matrix [rows, columns] as it is if it is aligned, else a copy. A copy costs a pass over the matrix, so it is meant for
/// small and odd ones.
class AlignedRows {
 public:
  AlignedRows(const void* matrix, int64_t rows, int64_t columns)
      : data_(static_cast<const __nv_bfloat16*>(matrix)), stride_(columns) {
    if (columns % kAlignedElements == 0 && reinterpret_cast<uintptr_t>(matrix) % 16 == 0) return;
    stride_ = (columns + kAlignedElements - 1) / kAlignedElements * kAlignedElements;
    const int64_t total = rows * stride_;
    if (total == 0) return;
    copy_.emplace(size_t(total) * sizeof(__nv_bfloat16));
    cuda::launch(widen_rows, dim3(unsigned((total + kAlignThreads - 1) / kAlignThreads)), dim3(kAlignThreads),
                 0, data_, columns, stride_, total, copy_->as<__nv_bfloat16>());
    data_ = copy_->as<__nv_bfloat16>();
  }
  const __nv_bfloat16* data() const { return data_; }
  int64_t stride() const { return stride_; }

 private:
  const __nv_bfloat16* data_;
  int64_t stride_;
  std::optional<cuda::Scratch> copy_;
};

}  // namespace
}  // namespace klab
