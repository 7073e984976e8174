// matmul_int8.cpu.91_onednn: oneDNN's product of 8-bit integers.
//
// CHANGE    a vendor's library: the matmul primitive, s8 by s8, with a scale for each column of the output.
// EXPECT    VNNI where the processor has it, with threads.
// NUMERICS  sums in 32 bits. Without VNNI oneDNN adds products in 16 bits that saturate, so it runs only with
//           it.
// NEEDS     oneDNN when klab is built; AVX-512 VNNI.
#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/matmul_int8/matmul_int8.h"

#if KLAB_HAVE_ONEDNN
#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN && defined(__x86_64__)

void run(const MatmulInt8::Args<float>& x) {
  using dnnl::memory;
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) {  // which oneDNN leaves unwritten
    std::fill_n(x.c, m * n, 0.0F);
    return;
  }
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  const memory::desc a({m, k}, memory::data_type::s8, memory::format_tag::ab);
  const memory::desc b({k, n}, memory::data_type::s8, memory::format_tag::ab);
  const memory::desc c({m, n}, memory::data_type::f32, memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_output_scales(1 << 1, std::vector<float>(x.scale, x.scale + n));
  const dnnl::matmul::primitive_desc how(dnnl::matmul::desc(a, b, c), attributes, engine);
  const auto at = [](const memory::desc& d, const void* p) {
    return memory(d, engine, const_cast<void*>(p));
  };
  dnnl::matmul(how).execute(
      stream, {{DNNL_ARG_SRC, at(a, x.a)}, {DNNL_ARG_WEIGHTS, at(b, x.b)}, {DNNL_ARG_DST, at(c, x.c)}});
  stream.wait();
}

std::string supported(const MatmulInt8::Shape&, const Host&) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") ? "" : "its sums are exact with AVX-512 VNNI only";
}

#else

void run(const MatmulInt8::Args<float>&) {}
std::string supported(const MatmulInt8::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(MatmulInt8, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
