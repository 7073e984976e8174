// mlp_fwd.cpu.90_onednn: oneDNN, layer by layer.
//
// CHANGE    each layer one matmul primitive with its ReLU or logistic as a fused post-operation, on the same
//           layout.
// EXPECT    the speed of a general library that gets a network one layer at a time: good products, and every
//           activation through memory.
// NUMERICS  float; order of summation and the logistic are the library's.
// NEEDS     oneDNN when built; 2·width·n floats of scratch, kept between calls.
#include <string>

#include "harness/core/registrar.h"
#include "reference/mlp_fwd/mlp_fwd.h"

#if KLAB_HAVE_ONEDNN
#include <vector>

#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const MlpFwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  if (s.n == 0) return;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  static thread_local std::vector<float> scratch;  // memory only: nothing in it outlives a call
  scratch.resize(size_t(2 * s.width * s.n));
  float* activations[2] = {scratch.data(), scratch.data() + s.width * s.n};
  const auto matrix = [](int64_t rows, int64_t columns) {
    return dnnl::memory::desc({rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
  };
  const auto wrap = [](const dnnl::memory::desc& desc, const float* p) {
    return dnnl::memory(desc, engine, const_cast<float*>(p));
  };
  const float* h = x.x;
  for (int64_t l = 0; l < s.layers(); ++l) {
    const int64_t from = s.from(l), to = s.to(l);
    float* out = l == s.hidden ? x.y : activations[l % 2];
    dnnl::primitive_attr attributes;
    dnnl::post_ops after;
    if (l < s.hidden)
      after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    else if (s.logistic)
      after.append_eltwise(1.0F, dnnl::algorithm::eltwise_logistic, 0.0F, 0.0F);
    attributes.set_post_ops(after);
    const auto w_desc = matrix(to, from), h_desc = matrix(from, s.n), out_desc = matrix(to, s.n);
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(w_desc, h_desc, out_desc), attributes, engine);
    dnnl::matmul(desc).execute(stream, {{DNNL_ARG_SRC, wrap(w_desc, x.weights + s.weight_begin(l))},
                                        {DNNL_ARG_WEIGHTS, wrap(h_desc, h)},
                                        {DNNL_ARG_DST, wrap(out_desc, out)}});
    h = out;
  }
  stream.wait();
}

std::string supported(const MlpFwd::Shape&, const Host&) { return {}; }

#else

void run(const MlpFwd::Args<float>&) {}
std::string supported(const MlpFwd::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(MlpFwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
