// host_vector_add.cuda.02_pinned: memory that stays where it is.
//
// CHANGE    the caller's vectors lie in page-locked memory (cudaMallocHost). The device fetches them by itself,
//           at the bus's full rate, without a core and without a second copy.
// EXPECT    the rate of the bus in place of that of one core's copy: 1.5 to 4 times the parent. Not for short
//           vectors, where starting three copies and a kernel is all the time.
// NUMERICS  one addition an element.
// NEEDS     device memory for three vectors; the caller's vectors page-locked.
// TRIED     on paper only: cudaHostRegister around each call. Locking pages takes longer than copying them once.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/host_vector_add/host_vector_add.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

void run(const HostVectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const size_t bytes = size_t(n) * sizeof(float);
  cuda::Scratch a(bytes), b(bytes), c(bytes);
  cuda::upload(a.as<float>(), x.a, bytes);
  cuda::upload(b.as<float>(), x.b, bytes);
  cuda::launch(add, unsigned((n + kThreads - 1) / kThreads), kThreads, 0, a.as<float>(), b.as<float>(),
               c.as<float>(), n);
  cuda::download(x.c, c.as<float>(), bytes);
}

KLAB_VARIANT(HostVectorAdd, {.run = run,
                             .parent = "01_pageable",
                             .tiles = {kThreads},
                             .expect = {.shape = {1 << 25}, .over_parent = 1.5},
                             .pinned = true});

}  // namespace
}  // namespace klab
