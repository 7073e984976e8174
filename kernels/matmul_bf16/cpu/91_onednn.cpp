// matmul_bf16.cpu.91_onednn: oneDNN's product of bfloat16s.
//
// CHANGE    a vendor's library: the matmul primitive, bf16 by bf16 into float.
// EXPECT    the processor's dot products where it has them; an emulation on other processors with AVX-512.
// NUMERICS  float sums.
// NEEDS     oneDNN when klab is built; AVX-512.
#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "reference/matmul_bf16/matmul_bf16.h"

#if KLAB_HAVE_ONEDNN
#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN && defined(__x86_64__)

void run(const MatmulBf16::Args<float>& x) {
  using dnnl::memory;
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) {  // which oneDNN leaves unwritten
    std::fill_n(x.c, m * n, 0.0F);
    return;
  }
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  const memory::desc a({m, k}, memory::data_type::bf16, memory::format_tag::ab);
  const memory::desc b({k, n}, memory::data_type::bf16, memory::format_tag::ab);
  const memory::desc c({m, n}, memory::data_type::f32, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc how(dnnl::matmul::desc(a, b, c), engine);
  const auto at = [](const memory::desc& d, const void* p) {
    return memory(d, engine, const_cast<void*>(p));
  };
  dnnl::matmul(how).execute(
      stream, {{DNNL_ARG_SRC, at(a, x.a)}, {DNNL_ARG_WEIGHTS, at(b, x.b)}, {DNNL_ARG_DST, at(c, x.c)}});
  stream.wait();
}

std::string supported(const MatmulBf16::Shape& shape, const Host&) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512bw")) return "oneDNN multiplies bfloat16s with AVX-512 only";
  // Its emulation takes columns of a in pairs and multiplies the last of an odd number by 0 as well: inf becomes NaN.
  if (shape.k % 2 != 0 && !__builtin_cpu_supports("avx512bf16"))
    return "oneDNN is right for an odd depth only with AVX-512 BF16";
  return "";
}

#else

void run(const MatmulBf16::Args<float>&) {}
std::string supported(const MatmulBf16::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(MatmulBf16, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
