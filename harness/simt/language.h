// CUDA's language for a host compiler: keywords, built-in variables, vector types.
//
// Built-in variables (threadIdx, ...) are calls of functions whose result the compiler may keep, so
// instrumented code reports no loads for them. Vectors of 8 and 16 bytes are copied as one piece, as the GPU
// loads and stores them.
//
// KLAB_CUDA_PROGRAM: the file is a stand-alone program that harness/cuda_compiler has rewritten. Its keywords
// are gone, and built-in variables are objects, as in CUDA.
#pragma once

#include "harness/simt/runtime_api.h"
#include "harness/simt/vector_types.h"

#ifndef KLAB_CUDA_PROGRAM
#define __global__
#define __device__
#define __host__
// Its own section distinguishes constant memory from __device__ variables (Module::constant_begin).
#define __constant__ static __attribute__((section("klab_constant")))
// Without it (constinit, in any standard) GCC guards the construction of arrays of vectors and halves, and the kernel would read
// and write that guard.
#define __shared__ static thread_local __constinit __attribute__((aligned(128)))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#endif

/// Declares `T* name`: the block's dynamic shared memory.
#define KLAB_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::klab::simt::dynamic_shared())

#ifndef KLAB_CUDA_PROGRAM
#define threadIdx (uint3{::klab::simt::thread_x(), ::klab::simt::thread_y(), ::klab::simt::thread_z()})
#define blockIdx (uint3{::klab::simt::block_x(), ::klab::simt::block_y(), ::klab::simt::block_z()})
#define blockDim (dim3(::klab::simt::block_dim_x(), ::klab::simt::block_dim_y(), ::klab::simt::block_dim_z()))
#define gridDim (dim3(::klab::simt::grid_dim_x(), ::klab::simt::grid_dim_y(), ::klab::simt::grid_dim_z()))
#else
extern __constinit thread_local const uint3 threadIdx __asm__("klab_thread_idx");
extern __constinit thread_local const uint3 blockIdx __asm__("klab_block_idx");
namespace klab::simt {
/// Replaces dim3, whose constructor keeps the compiler from treating an object as constant: it would report
/// loads.
struct Dimensions {
  unsigned x, y, z;
  operator dim3() const { return dim3(x, y, z); }  // NOLINT: converts implicitly, as dim3 does
};
}  // namespace klab::simt
extern __constinit thread_local const klab::simt::Dimensions blockDim __asm__("klab_block_dim");
extern __constinit thread_local const klab::simt::Dimensions gridDim __asm__("klab_grid_dim");
#endif
inline constexpr int warpSize = 32;
