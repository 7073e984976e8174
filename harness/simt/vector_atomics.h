// Additions of two and of four floats by one atomic instruction, which GPUs of compute capability 9.0 have for global memory.
#pragma once

#include "harness/simt/used_result.h"
#include "harness/simt/vector_types.h"

namespace klab::simt {
/// Adds to `count` neighboring floats, each of them atomically, by one request of all their bytes. The old values go to
/// `old` unless it is nullptr.
void atomic_floats(float* p, int count, float x, float y, float z, float w, float* old);
}  // namespace klab::simt

// Each returns the old values.
KLAB_SIMT_INLINE float2 atomicAdd(float2* p, float2 v) {
  float2 old;
  klab::simt::atomic_floats(&p->x, 2, v.x, v.y, 0, 0, &old.x);
  klab::simt::atomic_called();
  return {klab::simt::if_used(old.x), klab::simt::if_used(old.y)};
}
KLAB_SIMT_INLINE float4 atomicAdd(float4* p, float4 v) {
  float4 old;
  klab::simt::atomic_floats(&p->x, 4, v.x, v.y, v.z, v.w, &old.x);
  klab::simt::atomic_called();
  return {klab::simt::if_used(old.x), klab::simt::if_used(old.y), klab::simt::if_used(old.z),
          klab::simt::if_used(old.w)};
}
