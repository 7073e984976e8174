// matmul_bf16.cpu.07_amx_threads: strips of 32 columns shared out among the cores, each with its own tiles.
//
// CHANGE    each thread packs and multiplies its own strips, and releases its tiles; where there are fewer strips than threads,
//           they are cut across the rows as well.
// EXPECT    as many times the parent as there are cores: each core has a unit.
// NUMERICS  the parent's, bit for bit.
// NEEDS     AMX. Where the processor has none, a model does the same and is not timed.
#include <omp.h>

#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/tiles.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

using Args = MatmulBf16::Args<float>;
using Factor = Bfloat16;

template <class Tiles, int sums, int a, int b>
void dot() {
  Tiles::template dot_bf16<sums, a, b>();
}

#include "kernels/common/matmul/06_amx_blocks-inl.h"

#include "kernels/matmul_bf16/cpu/06_amx_blocks-inl.h"

#include "kernels/common/matmul/07_amx_threads-inl.h"

std::string supported(const MatmulBf16::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MatmulBf16, {.run = run,
                          .parent = "06_amx_blocks",
                          .tiles = {kSide, kBlock, kDepth},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 1.5},
                          .supported = supported});

}  // namespace
}  // namespace klab
