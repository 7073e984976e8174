// matmul_int8.cpu.04_vnni: the processor's own instruction for four products and their sum.
//
// CHANGE    VPDPBUSD multiplies 64 pairs of bytes and adds each four products to a 32-bit integer. Its first
//           factor is unsigned: A gets 128 added on its way into a register, and the extra term of a sum, 128
//           times a column of B, is subtracted at the end. Rows of B are packed in fours; a tile of 6 x 64
//           sums stays in registers.
// EXPECT    128 operations an instruction, one or two instructions a cycle: four times the peak of float.
//           Four times the parent, whose instruction does 32 and reads two factors for each.
// NUMERICS  exact sums; a conversion and a product.
// NEEDS     AVX-512 VNNI.
#include <algorithm>
#include <cstring>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/matmul_int8/matmul_int8.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace klab {
namespace {

constexpr int64_t kRows = 6, kColumns = 64;  // of a tile of C: 24 vectors of sums
constexpr const char* kMissing = "needs a processor with AVX-512 VNNI; 02_loop_order and 03_simd run on any";

#if defined(__x86_64__)

#define KLAB_NATIVE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

#include "kernels/matmul_int8/cpu/04_vnni-inl.h"

void run(const MatmulInt8::Args<float>& x) {
  static thread_local Scratch scratch;
  auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + 3) / 4 * kColumns));
  alignas(64) int32_t shift[kColumns];
  for (int64_t j = 0; j < x.shape.n; j += kColumns) {
    pack(x, j, packed, shift);
    strip(x, j, packed, shift, 0, x.shape.m);
  }
}

std::string supported(const MatmulInt8::Shape&, const Host&) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") ? "" : kMissing;
}

#else

void run(const MatmulInt8::Args<float>&) {}
std::string supported(const MatmulInt8::Shape&, const Host&) { return kMissing; }

#endif

KLAB_VARIANT(MatmulInt8, {.run = run,
                          .parent = "03_simd",
                          .tiles = {4, kRows, kColumns},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 2},
                          .supported = supported});

}  // namespace
}  // namespace klab
