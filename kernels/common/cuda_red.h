// Additions to global memory that return nothing: red.global.add, for one float, a pair, or four.
//
// An atomic whose result is not used is a RED instruction: the thread does not wait for it, and L2 adds. Compute
// capability 9.0 adds a pair or four neighbors by one request, each number atomically; the address is aligned to all of
// them. Older GPUs get as many single additions.
#pragma once

#include "kernels/common/cuda.h"
#if KLAB_SIMT
#include "harness/simt/vector_atomics.h"
#endif

namespace klab::cuda {

#if KLAB_SIMT

KLAB_SIMT_INLINE void add_to_global(float* p, float v) { atomicAdd(p, v); }
KLAB_SIMT_INLINE void add_to_global(float2* p, float2 v) {
  simt::atomic_floats(&p->x, 2, v.x, v.y, 0, 0, nullptr);
  simt::atomic_called();
}
KLAB_SIMT_INLINE void add_to_global(float4* p, float4 v) {
  simt::atomic_floats(&p->x, 4, v.x, v.y, v.z, v.w, nullptr);
  simt::atomic_called();
}

#else

__device__ __forceinline__ void add_to_global(float* p, float v) {
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "f"(v) : "memory");
}
__device__ __forceinline__ void add_to_global(float2* p, float2 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "f"(v.x), "f"(v.y)
               : "memory");
#else
  add_to_global(&p->x, v.x);
  add_to_global(&p->y, v.y);
#endif
}
__device__ __forceinline__ void add_to_global(float4* p, float4 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "f"(v.x),
               "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
#else
  add_to_global(&p->x, v.x);
  add_to_global(&p->y, v.y);
  add_to_global(&p->z, v.z);
  add_to_global(&p->w, v.w);
#endif
}

#endif

}  // namespace klab::cuda
