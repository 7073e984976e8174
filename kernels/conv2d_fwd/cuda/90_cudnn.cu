// conv2d_fwd.cuda.90_cudnn: cuDNN's convolution.
//
// CHANGE    a vendor's library: implicit products with float factors and float sums.
// EXPECT    close to the multiply-add peak for many channels; no tensor cores.
// NUMERICS  float, fused multiply-add.
// NEEDS     a GPU, and libcudnn next to its driver; NCHW.
#include "harness/core/registrar.h"
#include "kernels/common/vendor/cudnn.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {

void run(const Conv2dFwd::Args<float>& x) { cudnn::forward(x.shape, x.x, x.w, x.b, x.y); }

KLAB_VARIANT(Conv2dFwd, {.run = run, .peer = true, .supported = [](const Conv2dShape& s, const Host& host) {
                           return cudnn::supported(host, s);
                         }});

}  // namespace
}  // namespace klab
