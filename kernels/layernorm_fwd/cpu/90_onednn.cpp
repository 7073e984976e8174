// layernorm_fwd.cpu.90_onednn: oneDNN's layer normalization.
//
// CHANGE    a vendor's library. It gives variances, which a loop over rows makes into reciprocal roots.
// EXPECT    two passes in vectors, threads, plain stores.
// NUMERICS  float.
// NEEDS     oneDNN when klab is built.
#include <string>

#include "harness/core/registrar.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

#if KLAB_HAVE_ONEDNN
#include <cmath>

#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const LayernormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  using dnnl::memory;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  const memory::desc rows({n, c}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc statistics({n}, memory::data_type::f32, memory::format_tag::a);
  const memory::desc parameters({c}, memory::data_type::f32, memory::format_tag::a);
  const dnnl::layer_normalization_forward::primitive_desc how(
      {dnnl::prop_kind::forward_training, rows, statistics, *x.epsilon,
       dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift},
      engine);
  const auto at = [](const memory::desc& d, const float* p) {
    return memory(d, engine, const_cast<float*>(p));
  };
  dnnl::layer_normalization_forward(how).execute(stream, {{DNNL_ARG_SRC, at(rows, x.x)},
                                                          {DNNL_ARG_SCALE, at(parameters, x.gamma)},
                                                          {DNNL_ARG_SHIFT, at(parameters, x.beta)},
                                                          {DNNL_ARG_MEAN, at(statistics, x.mean)},
                                                          {DNNL_ARG_VARIANCE, at(statistics, x.rstd)},
                                                          {DNNL_ARG_DST, at(rows, x.y)}});
  stream.wait();
  for (int64_t i = 0; i < n; ++i) x.rstd[i] = 1 / std::sqrt(x.rstd[i] + *x.epsilon);
}

std::string supported(const LayernormFwd::Shape&, const Host&) { return {}; }

#else

void run(const LayernormFwd::Args<float>&) {}
std::string supported(const LayernormFwd::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(LayernormFwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
