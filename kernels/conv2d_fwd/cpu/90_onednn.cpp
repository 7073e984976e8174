// conv2d_fwd.cpu.90_onednn: oneDNN's convolution on the tensors as they lie.
//
// CHANGE    a vendor's library: a convolution primitive whose memory formats are those of the contract.
// EXPECT    its NHWC kernels are made for this; for NCHW it has few, and may fall back to im2col and a matrix
//           product.
// NUMERICS  float; order of summation is the library's.
// NEEDS     oneDNN when klab is built. The primitive of the last shape is kept: to make one takes as long as
//           a small layer.
#include <string>

#include "harness/core/registrar.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

#if KLAB_HAVE_ONEDNN
#include "kernels/common/vendor/onednn_conv.h"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const Conv2dFwd::Args<float>& x) {
  static thread_local onednn::Forward kept;
  kept.run(x.shape, onednn::Formats::as_they_lie, {x.x, x.w, x.b, x.y});
}

std::string supported(const Conv2dShape& s, const Host&) { return onednn::why_not(s); }

#else

void run(const Conv2dFwd::Args<float>&) {}
std::string supported(const Conv2dShape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(Conv2dFwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
