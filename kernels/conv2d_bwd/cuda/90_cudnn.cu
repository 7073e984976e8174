// conv2d_bwd.cuda.90_cudnn: cuDNN's backward convolutions.
//
// CHANGE    a vendor's library: implicit products with float factors and float sums.
// EXPECT    close to the multiply-add peak for many channels; no tensor cores.
// NUMERICS  float, fused multiply-add.
// NEEDS     a GPU, and libcudnn next to its driver; NCHW.
#include "harness/core/registrar.h"
#include "kernels/common/vendor/cudnn.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

namespace klab {
namespace {

void run(const Conv2dBwd::Args<float>& x) { cudnn::backward(x.shape, x.x, x.w, x.d_y, x.d_x, x.d_w, x.d_b); }

KLAB_VARIANT(Conv2dBwd, {.run = run, .peer = true, .supported = [](const Conv2dShape& s, const Host& host) {
                           return cudnn::supported(host, s);
                         }});

}  // namespace
}  // namespace klab
