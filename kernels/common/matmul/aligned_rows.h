// Matrices whose rows begin at multiples of 16 bytes, for copies of 16 bytes and for TMA.
#pragma once

#include <optional>

#include "kernels/common/cuda.h"

namespace klab {
namespace {

constexpr int kAlignThreads = 256;

/// Copies [.., columns] into rows of `stride` elements, zeros behind the columns.
template <class T>
__global__ void __launch_bounds__(kAlignThreads)
    widen_rows(const T* __restrict__ from, int64_t columns, int64_t stride, int64_t total,
               T* __restrict__ to) {
  const int64_t at = int64_t(blockIdx.x) * kAlignThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t i = at / stride, j = at % stride;
  to[at] = j < columns ? from[i * columns + j] : T{};
}

/// Stride of a matrix of that many columns of T.
template <class T>
int64_t aligned_stride(int64_t columns) {
  constexpr int64_t whole = 16 / sizeof(T);
  return (columns + whole - 1) / whole * whole;
}

/// A matrix [rows, columns] as it is if it is aligned, else a copy. A copy costs a pass over the matrix, so it is meant for
/// small and odd ones.
template <class T>
class AlignedRows {
 public:
  AlignedRows(const void* matrix, int64_t rows, int64_t columns)
      : data_(static_cast<const T*>(matrix)), stride_(aligned_stride<T>(columns)) {
    const int64_t total = rows * stride_;
    if ((stride_ == columns && reinterpret_cast<uintptr_t>(matrix) % 16 == 0) || total == 0) return;
    copy_.emplace(size_t(total) * sizeof(T));
    cuda::launch(widen_rows<T>, dim3(unsigned((total + kAlignThreads - 1) / kAlignThreads)),
                 dim3(kAlignThreads), 0, data_, columns, stride_, total, copy_->template as<T>());
    data_ = copy_->template as<T>();
  }
  const T* data() const { return data_; }
  int64_t stride() const { return stride_; }

 private:
  const T* data_;
  int64_t stride_;
  std::optional<cuda::Scratch> copy_;
};

}  // namespace
}  // namespace klab
