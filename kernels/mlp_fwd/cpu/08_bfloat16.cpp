// mlp_fwd.cpu.08_bfloat16: weights and activations in 16 bits, by the processor's dot product of pairs.
//
// CHANGE    samples, weights and hidden activations are rounded to bfloat16, two channels in a word; one
//           instruction multiplies both by two weights and adds up in float. Tiles and weights are half as
//           large.
// EXPECT    twice the peak: 64 operations an instruction, as many instructions a cycle as of float's
//           multiply-add. The parent's traffic of samples, which are floats in memory, stays, and rounding
//           and interleaving them is added: at least 1.6 times the parent.
// NUMERICS  bfloat16 factors, sums in float; denormal factors and sums are taken for zero.
// NEEDS     AVX-512 BF16.
// TRIED     see NOTES.md, cpu.04_fused_tile, bfloat16: Highway 1.0's pairwise multiply-add, which consists of
//           two float ones.
#include <omp.h>

#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/bf16.h"
#include "kernels/common/scratch.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

using namespace mlp_bf16;

#if defined(__x86_64__)

#include "kernels/common/mlp/08_bfloat16-inl.h"

void run(const MlpFwd::Args<float>& x) { infer(x.shape, x.weights, x.x, x.y); }

#else

void run(const MlpFwd::Args<float>&) {}

#endif

std::string supported(const MlpFwd::Shape&, const Host&) { return unsupported(); }

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "07_prefetch",
                      .numerics = {.unit = Unit::bf16},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.6},
                      .supported = supported});

}  // namespace
}  // namespace klab
