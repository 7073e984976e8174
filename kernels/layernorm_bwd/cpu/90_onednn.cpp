// layernorm_bwd.cpu.90_onednn: oneDNN's layer normalization, backward.
//
// CHANGE    a vendor's library. It takes variances and an epsilon; 1/rstd^2 is the sum of both.
// EXPECT    a pass along the rows for d_x and one for the column sums, in vectors and threads.
// NUMERICS  float; the root is taken again.
// NEEDS     oneDNN when klab is built.
#include <string>

#include "harness/core/registrar.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

#if KLAB_HAVE_ONEDNN
#include <algorithm>
#include <vector>

#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const LayernormBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) {  // no shape of the library's
    std::fill_n(x.d_gamma, c, 0.0F);
    std::fill_n(x.d_beta, c, 0.0F);
    return;
  }
  using dnnl::memory;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  const memory::desc rows({n, c}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc statistics({n}, memory::data_type::f32, memory::format_tag::a);
  const auto both = dnnl::normalization_flags::use_scale_shift;
  const memory::desc pairs({2, c}, memory::data_type::f32, memory::format_tag::nc);
  const dnnl::layer_normalization_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, rows, statistics, 0.0F, both}, engine);
  const dnnl::layer_normalization_backward::primitive_desc how(
      {dnnl::prop_kind::backward, rows, rows, statistics, 0.0F, both}, engine, forward);
  static thread_local std::vector<float> pair;
  pair.resize(size_t(4 * c));  // scale and shift, and the gradients of both
  std::copy_n(x.gamma, c, pair.data());
  static thread_local std::vector<float> variance;  // memory only: nothing in it outlives a call
  variance.resize(size_t(n));
  for (int64_t i = 0; i < n; ++i) variance[size_t(i)] = 1 / (x.rstd[i] * x.rstd[i]);
  const auto at = [](const memory::desc& d, const float* p) {
    return memory(d, engine, const_cast<float*>(p));
  };
  dnnl::layer_normalization_backward(how).execute(
      stream, {{DNNL_ARG_SRC, at(rows, x.x)},
               {DNNL_ARG_SCALE_SHIFT, at(pairs, pair.data())},
               {DNNL_ARG_MEAN, at(statistics, x.mean)},
               {DNNL_ARG_VARIANCE, at(statistics, variance.data())},
               {DNNL_ARG_DIFF_DST, at(rows, x.d_y)},
               {DNNL_ARG_DIFF_SRC, at(rows, x.d_x)},
               {DNNL_ARG_DIFF_SCALE_SHIFT, at(pairs, pair.data() + 2 * c)}});
  stream.wait();
  std::copy_n(pair.data() + 2 * c, c, x.d_gamma);
  std::copy_n(pair.data() + 3 * c, c, x.d_beta);
}

std::string supported(const LayernormBwd::Shape&, const Host&) { return {}; }

#else

void run(const LayernormBwd::Args<float>&) {}
std::string supported(const LayernormBwd::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(LayernormBwd, {.run = run, .forward = "90_onednn", .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
