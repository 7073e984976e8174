// batchnorm_bwd.cpu.90_onednn: oneDNN's batch normalization, backward.
//
// CHANGE    a vendor's library. It takes variances and an epsilon; 1/rstd^2 is the sum of both.
// EXPECT    two passes in vectors and threads, channels in blocks.
// NUMERICS  float; the root is taken again.
// NEEDS     oneDNN when klab is built.
#include <string>

#include "harness/core/registrar.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

#if KLAB_HAVE_ONEDNN
#include <algorithm>
#include <vector>

#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const BatchnormBwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  if (c == 0) return;
  using dnnl::memory;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  const memory::desc images({n, c, hw, 1}, memory::data_type::f32, memory::format_tag::nchw);
  const memory::desc channels({c}, memory::data_type::f32, memory::format_tag::a);
  const auto both = dnnl::normalization_flags::use_scale_shift;
  const memory::desc pairs({2, c}, memory::data_type::f32, memory::format_tag::nc);
  const dnnl::batch_normalization_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, images, 0.0F, both}, engine);
  const dnnl::batch_normalization_backward::primitive_desc how(
      {dnnl::prop_kind::backward, images, images, 0.0F, both}, engine, forward);
  static thread_local std::vector<float> pair;
  pair.resize(size_t(4 * c));  // scale and shift, and the gradients of both
  std::copy_n(x.gamma, c, pair.data());
  static thread_local std::vector<float> variance;  // memory only: nothing in it outlives a call
  variance.resize(size_t(c));
  for (int64_t j = 0; j < c; ++j) variance[size_t(j)] = 1 / (x.rstd[j] * x.rstd[j]);
  const auto at = [](const memory::desc& d, const float* p) {
    return memory(d, engine, const_cast<float*>(p));
  };
  dnnl::batch_normalization_backward(how).execute(
      stream, {{DNNL_ARG_SRC, at(images, x.x)},
               {DNNL_ARG_SCALE_SHIFT, at(pairs, pair.data())},
               {DNNL_ARG_MEAN, at(channels, x.mean)},
               {DNNL_ARG_VARIANCE, at(channels, variance.data())},
               {DNNL_ARG_DIFF_DST, at(images, x.d_y)},
               {DNNL_ARG_DIFF_SRC, at(images, x.d_x)},
               {DNNL_ARG_DIFF_SCALE_SHIFT, at(pairs, pair.data() + 2 * c)}});
  stream.wait();
  std::copy_n(pair.data() + 2 * c, c, x.d_gamma);
  std::copy_n(pair.data() + 3 * c, c, x.d_beta);
}

std::string supported(const BatchnormBwd::Shape&, const Host&) { return {}; }

#else

void run(const BatchnormBwd::Args<float>&) {}
std::string supported(const BatchnormBwd::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(BatchnormBwd, {.run = run, .forward = "90_onednn", .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
