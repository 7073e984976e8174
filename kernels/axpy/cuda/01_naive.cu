// axpy.cuda.01_naive: one thread per entry.
//
// CHANGE   the loop over entries spread over threads.
// EXPECT   coalesced: four sectors/request.
#include "harness/core/registrar.h"
#include "kernels/common/block_size.h"
#include "kernels/common/cuda.h"
#include "reference/axpy/axpy.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(cuda::kMostThreads) add(Axpy::Args<float> x) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < x.shape.n) x.y[i] += *x.a * x.x[i];
}

void run(const Axpy::Args<float>& x) {
  if (x.shape.n == 0) return;
  const int block = cuda::block_size("axpy.cuda.01_naive", kThreads);
  cuda::launch(add, dim3(unsigned((x.shape.n + block - 1) / block)), dim3(unsigned(block)), 0, x);
}

KLAB_VARIANT(Axpy, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
