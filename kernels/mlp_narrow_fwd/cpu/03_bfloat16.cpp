// mlp_narrow_fwd.cpu.03_bfloat16: two products an instruction.
//
// CHANGE    weights become pairs of bfloat16s once a call, from whatever they are, and samples and hidden activations are
//           rounded to them too: the processor's dot product of pairs, as in mlp_fwd.cpu.08_bfloat16.
// EXPECT    twice the peak; samples are still floats in memory, and are rounded and interleaved: at least 1.5 times the parent.
//           A weight that is stored in bfloat16 is not rounded again, so only activations are.
// NUMERICS  bfloat16 factors, sums in float; denormal factors and sums are taken for zero.
// NEEDS     AVX-512 BF16.
#include <omp.h>

#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/bf16.h"
#include "kernels/common/scratch.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

namespace klab {
namespace {

using namespace mlp_bf16;

#if defined(__x86_64__)

#include "kernels/common/mlp/08_bfloat16-inl.h"

void run(const MlpNarrowFwd::Args<float>& x) {
  static thread_local Scratch scratch;
  const MlpFwd::Shape s = x.shape.network();
  float* const weights = scratch.floats(s.weights());
  widen_weights(x, weights);
  infer(s, weights, x.x, x.y);
}

#else

void run(const MlpNarrowFwd::Args<float>&) {}

#endif

std::string supported(const MlpNarrowFwd::Shape&, const Host&) { return unsupported(); }

KLAB_VARIANT(MlpNarrowFwd, {.run = run,
                            .parent = "02_widened_once",
                            .numerics = {.unit = Unit::bf16},
                            .expect = {.shape = {1 << 16, 32, 64, 2, 3, 1, 2}, .over_parent = 1.5},
                            .supported = supported});

}  // namespace
}  // namespace klab
