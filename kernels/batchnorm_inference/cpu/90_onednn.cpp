// batchnorm_inference.cpu.90_onednn: oneDNN's batch normalization with given statistics.
//
// CHANGE    a vendor's library.
// EXPECT    one pass in vectors and threads.
// NUMERICS  float.
// NEEDS     oneDNN when klab is built.
#include <string>

#include "harness/core/registrar.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"

#if KLAB_HAVE_ONEDNN
#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const BatchnormInference::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  if (n * c * hw == 0) return;
  using dnnl::memory;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  const memory::desc images({n, c, hw, 1}, memory::data_type::f32, memory::format_tag::nchw);
  const memory::desc channels({c}, memory::data_type::f32, memory::format_tag::a);
  const dnnl::batch_normalization_forward::primitive_desc how(
      {dnnl::prop_kind::forward_inference, images, *x.epsilon,
       dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift |
           dnnl::normalization_flags::use_global_stats},
      engine);
  const auto at = [](const memory::desc& d, const float* p) {
    return memory(d, engine, const_cast<float*>(p));
  };
  dnnl::batch_normalization_forward(how).execute(stream, {{DNNL_ARG_SRC, at(images, x.x)},
                                                          {DNNL_ARG_SCALE, at(channels, x.gamma)},
                                                          {DNNL_ARG_SHIFT, at(channels, x.beta)},
                                                          {DNNL_ARG_MEAN, at(channels, x.running_mean)},
                                                          {DNNL_ARG_VARIANCE, at(channels, x.running_var)},
                                                          {DNNL_ARG_DST, at(images, x.y)}});
  stream.wait();
}

std::string supported(const BatchnormInference::Shape&, const Host&) { return {}; }

#else

void run(const BatchnormInference::Args<float>&) {}
std::string supported(const BatchnormInference::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(BatchnormInference, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
