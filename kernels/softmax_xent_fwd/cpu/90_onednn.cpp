// softmax_xent_fwd.cpu.90_onednn: oneDNN's softmax, of which one probability a row is used.
//
// CHANGE    a vendor's library. It has no cross-entropy: all c probabilities of a row are written, and only
//           the largest is wanted. The loss is made from that one, as it cannot have underflowed.
// EXPECT    fast loops, and as many bytes written as read, for nothing.
// NUMERICS  float; the exponential is the library's.
// NEEDS     oneDNN when klab is built; n·c floats of scratch, kept between calls.
// TRIED     see NOTES.md, cpu.90_onednn
#include <string>

#include "harness/core/registrar.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

#if KLAB_HAVE_ONEDNN
#include <algorithm>
#include <cmath>
#include <vector>

#include "dnnl.hpp"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static thread_local dnnl::stream stream(engine);
  static thread_local std::vector<float> probabilities;  // memory only: nothing in it outlives a call
  probabilities.resize(size_t(n * c));
  const dnnl::memory::desc rows({n, c}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
  const dnnl::softmax_v2_forward::primitive_desc how(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, rows, rows, 1}, engine);
  dnnl::softmax_v2_forward(how).execute(
      stream, {{DNNL_ARG_SRC, dnnl::memory(rows, engine, const_cast<float*>(x.logits))},
               {DNNL_ARG_DST, dnnl::memory(rows, engine, probabilities.data())}});
  stream.wait();
  const float* all = probabilities.data();
#pragma omp parallel for
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const int64_t classes = x.shape.c;
    const float *row = x.logits + i * classes, *p = all + i * classes;
    const int64_t largest = std::max_element(p, p + classes) - p;
    x.loss[i] = -std::log(p[largest]) + (row[largest] - row[x.labels[i]]);
  }
}

std::string supported(const SoftmaxXentFwd::Shape&, const Host&) { return {}; }

#else

void run(const SoftmaxXentFwd::Args<float>&) {}
std::string supported(const SoftmaxXentFwd::Shape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(SoftmaxXentFwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
