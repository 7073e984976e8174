// host_vector_add.cuda.01_pageable: there, add, back.
//
// CHANGE    the whole of a and b goes to the device, one kernel adds, c comes back. The host's memory comes
//           from malloc: its pages may move, so the driver first copies them into its own buffer, piece by
//           piece, and the device fetches them from there.
// EXPECT    12 bytes per element over a bus twenty times slower than the device's memory, and each of them
//           copied once more by a core of the host. The kernel itself is a percent of the time.
// NUMERICS  one addition an element.
// NEEDS     device memory for three vectors.
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

KLAB_VARIANT(HostVectorAdd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
