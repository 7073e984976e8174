// Matrix instructions of a warp: mma.sync and ldmatrix. Inline PTX under nvcc, emulated on the host.
//
// All 32 lanes take part. With group = lane / 4 and in = lane % 4, a lane holds (PTX manual, "Matrix fragments for
// mma.m16n8k16"), two 16-bit elements a register, the lower one first:
//
//   a[0] row group      columns 2·in, +1        a[2] row group      columns 2·in + 8, +9
//   a[1] row group + 8  columns 2·in, +1        a[3] row group + 8  columns 2·in + 8, +9
//   b[0] rows (k) 2·in, +1  column group        b[1] rows 2·in + 8, +9  column group
//   c[0], c[1] row group, columns 2·in, +1      c[2], c[3] row group + 8, the same columns
//
// m16n8k8 for tf32, one element a register:
//   a[0] (group, in)  a[1] (group + 8, in)  a[2] (group, in + 4)  a[3] (group + 8, in + 4)
//   b[0] (k = in, n = group)  b[1] (k = in + 4, n = group)
//
// m16n8k32 for bytes, four neighbors along k a register, the lowest first; c as above, in 32-bit integers, of e4m3 in floats:
//   a[0] row group, k = 4·in ...  a[1] row group + 8  a[2] row group, k = 16 + 4·in ...  a[3] row group + 8
//   b[0] k = 4·in ..., column group  b[1] k = 16 + 4·in ...
#pragma once

#include "kernels/common/cuda.h"
#if KLAB_SIMT
#include "harness/simt/matrix_fp8.h"
#endif

namespace klab::cuda {

#if KLAB_SIMT

/// d = a·b + c, sums in float.
KLAB_SIMT_INLINE void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                       const float (&c)[4], KLAB_SIMT_HERE) {
  simt::mma_16_8(simt::MatrixType::f16, d, a, b, c, file, line);
}
KLAB_SIMT_INLINE void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                        const float (&c)[4], KLAB_SIMT_HERE) {
  simt::mma_16_8(simt::MatrixType::bf16, d, a, b, c, file, line);
}
/// The 19 upper bits of a and b count.
KLAB_SIMT_INLINE void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                       const float (&c)[4], KLAB_SIMT_HERE) {
  simt::mma_16_8(simt::MatrixType::tf32, d, a, b, c, file, line);
}

/// d = a·b + c of bytes with signs; sums in 32 bits, exact.
KLAB_SIMT_INLINE void mma_m16n8k32_s8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                      const int (&c)[4], KLAB_SIMT_HERE) {
  simt::mma_16_8_bytes(d, a, b, c, file, line);
}

/// d = a·b + c of e4m3, sums in float. On a GPU of compute capability 8.9 and more.
KLAB_SIMT_INLINE void mma_m16n8k32_e4m3(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                        const float (&c)[4], KLAB_SIMT_HERE) {
  simt::mma_16_8_fp8(d, a, b, c, file, line);
}
/// The same with a of e5m2 and b of e4m3.
KLAB_SIMT_INLINE void mma_m16n8k32_e5m2_e4m3(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                             const float (&c)[4], KLAB_SIMT_HERE) {
  simt::mma_16_8_e5m2(d, a, b, c, file, line);
}

/// 8x8 matrices of 16-bit elements from shared memory: lane i gives the address of row i % 8 of matrix i / 8 (16
/// bytes, aligned), and gets of each matrix the elements (lane / 4; 2·(lane % 4), +1), transposed the mirrored ones.
KLAB_SIMT_INLINE void ldmatrix_x4(uint32_t (&r)[4], const void* shared_row, KLAB_SIMT_HERE) {
  simt::load_matrix(r, 4, false, shared_row, file, line);
}
KLAB_SIMT_INLINE void ldmatrix_x4_trans(uint32_t (&r)[4], const void* shared_row, KLAB_SIMT_HERE) {
  simt::load_matrix(r, 4, true, shared_row, file, line);
}
KLAB_SIMT_INLINE void ldmatrix_x2(uint32_t (&r)[2], const void* shared_row, KLAB_SIMT_HERE) {
  simt::load_matrix(r, 2, false, shared_row, file, line);
}
KLAB_SIMT_INLINE void ldmatrix_x2_trans(uint32_t (&r)[2], const void* shared_row, KLAB_SIMT_HERE) {
  simt::load_matrix(r, 2, true, shared_row, file, line);
}

#else

#define KLAB_MMA_16(name, type)                                                                            \
  __device__ __forceinline__ void name(float(&d)[4], const uint32_t(&a)[4], const uint32_t(&b)[2],         \
                                       const float(&c)[4]) {                                               \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                                    \
                 ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n"                        \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), \
                   "f"(c[2]), "f"(c[3]));                                                                  \
  }
KLAB_MMA_16(mma_m16n8k16_f16, "f16")
KLAB_MMA_16(mma_m16n8k16_bf16, "bf16")
#undef KLAB_MMA_16

__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4],
                                                 const uint32_t (&b)[2], const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};\n"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
        "f"(c[3]));
}

__device__ __forceinline__ void mma_m16n8k32_s8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                const int (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};\n"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]),
        "r"(c[3]));
}

// Where the instruction is missing the kernel is still compiled, and its variant reports that it cannot run.
#if __CUDA_ARCH__ >= 890
#define KLAB_MMA_FP8(name, types)                                                                          \
  __device__ __forceinline__ void name(float(&d)[4], const uint32_t(&a)[4], const uint32_t(&b)[2],         \
                                       const float(&c)[4]) {                                               \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." types                                            \
                 ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n"                        \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), \
                   "f"(c[2]), "f"(c[3]));                                                                  \
  }
#else
#define KLAB_MMA_FP8(name, types)                                                               \
  __device__ __forceinline__ void name(float(&)[4], const uint32_t(&)[4], const uint32_t(&)[2], \
                                       const float(&)[4]) {                                     \
    asm volatile("trap;");                                                                      \
  }
#endif
KLAB_MMA_FP8(mma_m16n8k32_e4m3, "e4m3.e4m3")
KLAB_MMA_FP8(mma_m16n8k32_e5m2_e4m3, "e5m2.e4m3")
#undef KLAB_MMA_FP8

#define KLAB_LDMATRIX_4(name, trans)                                                        \
  __device__ __forceinline__ void name(uint32_t(&r)[4], const void* shared_row) {           \
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(shared_row));            \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans ".shared.b16 {%0,%1,%2,%3}, [%4];\n" \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                           \
                 : "r"(at)                                                                  \
                 : "memory");                                                               \
  }
#define KLAB_LDMATRIX_2(name, trans)                                                  \
  __device__ __forceinline__ void name(uint32_t(&r)[2], const void* shared_row) {     \
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(shared_row));      \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" trans ".shared.b16 {%0,%1}, [%2];\n" \
                 : "=r"(r[0]), "=r"(r[1])                                             \
                 : "r"(at)                                                            \
                 : "memory");                                                         \
  }
KLAB_LDMATRIX_4(ldmatrix_x4, "")
KLAB_LDMATRIX_4(ldmatrix_x4_trans, ".trans")
KLAB_LDMATRIX_2(ldmatrix_x2, "")
KLAB_LDMATRIX_2(ldmatrix_x2_trans, ".trans")
#undef KLAB_LDMATRIX_4
#undef KLAB_LDMATRIX_2

#endif

}  // namespace klab::cuda
