// conv2d_bwd.cpu.90_onednn: oneDNN's two backward convolutions on the tensors as they lie.
//
// CHANGE    a vendor's library: backward_data and backward_weights, in the formats of the contract.
// EXPECT    good NHWC kernels; for NCHW im2col and a matrix product.
// NUMERICS  float; order of summation is the library's.
// NEEDS     oneDNN when klab is built. The primitives of the last shape are kept.
#include <string>

#include "harness/core/registrar.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

#if KLAB_HAVE_ONEDNN
#include "kernels/common/vendor/onednn_conv.h"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const Conv2dBwd::Args<float>& x) {
  static thread_local onednn::Backward kept;
  kept.run(x.shape, onednn::Formats::as_they_lie, {x.x, x.w, x.d_y, x.d_x, x.d_w, x.d_b});
}

std::string supported(const Conv2dShape& s, const Host&) { return onednn::why_not_backward(s); }

#else

void run(const Conv2dBwd::Args<float>&) {}
std::string supported(const Conv2dShape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(Conv2dBwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
