// clip_norm.cuda.01_atomic_sum: an atomic for every entry.
//
// CHANGE   each thread adds its square to one number.
// EXPECT   all entries wait for one address: hundreds of times slower than the memory.
// NUMERICS squares and their sum in double, in any order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/clip_norm/clip_norm.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) add_up(ClipNorm::Args<float> x, double* __restrict__ squares) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < x.shape.n) atomicAdd(squares, double(x.gradient[i]) * double(x.gradient[i]));
}

__global__ void __launch_bounds__(kThreads)
    scale(ClipNorm::Args<float> x, const double* __restrict__ squares) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const double norm = sqrt(*squares);
  if (i == 0) *x.norm = float(norm);
  if (i < x.shape.n && norm > double(*x.limit)) x.gradient[i] *= float(double(*x.limit) / norm);
}

void run(const ClipNorm::Args<float>& x) {
  cuda::Scratch scratch(sizeof(double));
  cuda::fill_zero(scratch.as<double>(), sizeof(double));
  const int64_t n = x.shape.n > 0 ? x.shape.n : 1;
  cuda::launch(add_up, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, x,
               scratch.as<double>());
  cuda::launch(scale, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, x,
               scratch.as<double>());
}

KLAB_VARIANT(ClipNorm, {.run = run, .numerics = {.deterministic = false}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
