// matmul_bf16.cpu.03_native_dot: the processor's own instruction for two products and their sum.
//
// CHANGE    VDPBF16PS multiplies 32 pairs of bfloat16s and adds each two of them to a float. Rows of B are packed in pairs for
//           it, 64 columns at a time; a tile of 6 x 64 sums stays in registers for all of k.
// EXPECT    64 operations an instruction and one instruction a cycle: twice the peak of float. Over the parent, which converts
//           and reads C for each row of B, ten times.
// NUMERICS  float sums, rounded to nearest; the instruction takes denormal factors and sums for zero whatever the processor's
//           mode is (Intel SDM, VDPBF16PS), which the contract's bound contains.
// NEEDS     AVX-512 BF16.
#include <algorithm>
#include <cstring>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/matmul_bf16/matmul_bf16.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace klab {
namespace {

constexpr int64_t kRows = 6, kColumns = 64;  // of a tile of C: 24 vectors of sums
constexpr const char* kMissing = "needs a processor with AVX-512 BF16; 02_loop_order runs on any";

#if defined(__x86_64__)

#define KLAB_NATIVE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

#include "kernels/matmul_bf16/cpu/03_native_dot-inl.h"

void run(const MatmulBf16::Args<float>& x) {
  static thread_local Scratch scratch;
  auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + 1) / 2 * kColumns));
  for (int64_t j = 0; j < x.shape.n; j += kColumns) {
    pack(x, j, packed);
    strip(x, j, packed, 0, x.shape.m);
  }
}

std::string supported(const MatmulBf16::Shape&, const Host&) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") ? "" : kMissing;
}

#else

void run(const MatmulBf16::Args<float>&) {}
std::string supported(const MatmulBf16::Shape&, const Host&) { return kMissing; }

#endif

KLAB_VARIANT(MatmulBf16, {.run = run,
                          .parent = "02_loop_order",
                          .tiles = {2, kRows, kColumns},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 5},
                          .supported = supported});

}  // namespace
}  // namespace klab
