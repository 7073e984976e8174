// host_vector_add.cuda.80_other_stream: the sum comes back on the other stream than the kernel runs on.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/host_vector_add/host_vector_add.h"

namespace klab {
namespace {

__global__ void add(const float* a, const float* b, float* c, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

void run(const HostVectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const size_t bytes = size_t(n) * sizeof(float);
  cuda::Scratch a(bytes), b(bytes), c(bytes);
  cuda::fill_zero(c.as<float>(), bytes);
  cuda::Fork<2> streams;
  streams.upload(0, a.as<float>(), x.a, bytes);
  streams.upload(0, b.as<float>(), x.b, bytes);
  streams.launch(0, add, unsigned((n + 255) / 256), 256, 0, a.as<float>(), b.as<float>(), c.as<float>(), n);
  streams.download(1, x.c, c.as<float>(), bytes);  // WRONG: nothing orders it behind the kernel
  streams.join();
}

KLAB_VARIANT(HostVectorAdd, {.run = run, .tiles = {256}});

}  // namespace
}  // namespace klab
