// softmax_xent_bwd.cpu.90_onednn: oneDNN's softmax, and a loop over its probabilities.
//
// CHANGE    a vendor's library. It writes the probabilities where the gradients will be; scaling,
//           subtracting, and the loss from the largest probability, which never underflows, remain.
// EXPECT    a good softmax, and the row crossed once more than a fused kernel needs.
// NUMERICS  float; the exponential is the library's.
// NEEDS     oneDNN when klab is built.
// TRIED     see NOTES.md, cpu.90_onednn
#include <string>

#include "harness/core/registrar.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

#if KLAB_HAVE_ONEDNN
#include <algorithm>
#include <cmath>

#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  const dnnl::memory::desc rows({n, c}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
  const dnnl::softmax_v2_forward::primitive_desc how(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, rows, rows, 1}, engine);
  dnnl::softmax_v2_forward(how).execute(
      stream, {{DNNL_ARG_SRC, dnnl::memory(rows, engine, const_cast<float*>(x.logits))},
               {DNNL_ARG_DST, dnnl::memory(rows, engine, x.d_logits)}});
  stream.wait();
#pragma omp parallel for
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const int64_t classes = x.shape.c;
    const float *row = x.logits + i * classes, g = x.d_loss[i];
    float* d = x.d_logits + i * classes;
    const int64_t label = x.labels[i], largest = std::max_element(d, d + classes) - d;
    x.loss[i] = -std::log(d[largest]) + (row[largest] - row[label]);
    for (int64_t j = 0; j < classes; ++j) d[j] *= g;
    d[label] -= g;
  }
}

std::string supported(const SoftmaxXentBwd::Shape&, const Host&) { return {}; }

#else

void run(const SoftmaxXentBwd::Args<float>&) {}
std::string supported(const SoftmaxXentBwd::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(SoftmaxXentBwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
