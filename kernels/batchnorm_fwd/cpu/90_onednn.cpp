// batchnorm_fwd.cpu.90_onednn: oneDNN's batch normalization, as in training.
//
// CHANGE    a vendor's library. It gives variances, which a loop over channels makes into reciprocal roots
//           and running averages.
// EXPECT    two passes in vectors and threads, channels in blocks.
// NUMERICS  float.
// NEEDS     oneDNN when klab is built.
#include <string>

#include "harness/core/registrar.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

#if KLAB_HAVE_ONEDNN
#include <cmath>

#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const BatchnormFwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  if (c == 0) return;
  using dnnl::memory;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  const memory::desc images({n, c, hw, 1}, memory::data_type::f32, memory::format_tag::nchw);
  const memory::desc channels({c}, memory::data_type::f32, memory::format_tag::a);
  const dnnl::batch_normalization_forward::primitive_desc how(
      {dnnl::prop_kind::forward_training, images, *x.epsilon,
       dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift},
      engine);
  const auto at = [](const memory::desc& d, const float* p) {
    return memory(d, engine, const_cast<float*>(p));
  };
  dnnl::batch_normalization_forward(how).execute(stream, {{DNNL_ARG_SRC, at(images, x.x)},
                                                          {DNNL_ARG_SCALE, at(channels, x.gamma)},
                                                          {DNNL_ARG_SHIFT, at(channels, x.beta)},
                                                          {DNNL_ARG_MEAN, at(channels, x.mean)},
                                                          {DNNL_ARG_VARIANCE, at(channels, x.rstd)},
                                                          {DNNL_ARG_DST, at(images, x.y)}});
  stream.wait();
  const int64_t N = BatchnormFwd::count(x.shape);
  const float unbiased = N > 1 ? float(double(N) / double(N - 1)) : 1;
  for (int64_t j = 0; j < c; ++j) {
    const float variance = x.rstd[j];
    x.rstd[j] = 1 / std::sqrt(variance + *x.epsilon);
    x.running_mean[j] += *x.momentum * (x.mean[j] - x.running_mean[j]);
    x.running_var[j] += *x.momentum * (unbiased * variance - x.running_var[j]);
  }
}

std::string supported(const BatchnormFwd::Shape&, const Host&) { return {}; }

#else

void run(const BatchnormFwd::Args<float>&) {}
std::string supported(const BatchnormFwd::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(BatchnormFwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
