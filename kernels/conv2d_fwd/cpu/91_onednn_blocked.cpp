// conv2d_fwd.cpu.91_onednn_blocked: oneDNN's convolution in the formats that it likes best.
//
// CHANGE    the library chooses the formats, channels in blocks of 8 or 16 as a rule; x and w are reordered before, y after.
// EXPECT    its fastest kernels, and a pass over x and one over y for the reorders.
// NUMERICS  float; order of summation is the library's.
// NEEDS     oneDNN when klab is built; memory for the reordered tensors. The primitives of the last shape are kept.
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
  kept.run(x.shape, onednn::Formats::any, {x.x, x.w, x.b, x.y});
}

std::string supported(const Conv2dShape& s, const Host&) { return onednn::why_not(s); }

#else

void run(const Conv2dFwd::Args<float>&) {}
std::string supported(const Conv2dShape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(Conv2dFwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
