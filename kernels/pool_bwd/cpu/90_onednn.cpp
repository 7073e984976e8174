// pool_bwd.cpu.90_onednn: oneDNN's pooling on the tensors as they lie.
//
// CHANGE    a vendor's library.
// EXPECT    for a maximum the forward is run again, to note which pixel was largest.
// NUMERICS  float; a maximum is exact.
// NEEDS     oneDNN when klab is built. The primitives of the last shape are kept.
#include <string>

#include "harness/core/registrar.h"
#include "reference/pool_bwd/pool_bwd.h"

#if KLAB_HAVE_ONEDNN
#include "kernels/common/vendor/onednn_pool.h"
#endif

namespace klab {
namespace {

#if KLAB_HAVE_ONEDNN

void run(const PoolBwd::Args<float>& x) {
  static thread_local onednn::Pool kept;
  kept.run(x.shape, x.x, nullptr, x.d_y, x.d_x);
}

std::string supported(const PoolShape& s, const Host&) { return onednn::why_not(s); }

#else

void run(const PoolBwd::Args<float>&) {}
std::string supported(const PoolShape&, const Host&) { return "built without oneDNN"; }

#endif

KLAB_VARIANT(PoolBwd, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
