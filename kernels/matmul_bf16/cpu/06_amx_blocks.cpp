// matmul_bf16.cpu.06_amx_blocks: four tiles of sums, so that products need not wait for each other.
//
// CHANGE    a block of 2 x 2 tiles of sums: two tiles of A and two of B are loaded for four products. B is packed 32 columns at a
//           time by a loop that makes vectors, and tiles are configured only where a block's size changes.
// EXPECT    four chains of sums where the parent has one, and a load for each product instead of two: 3 times the parent, until
//           the instruction's own rate, one in 16 cycles, holds it.
// NUMERICS  the parent's, bit for bit.
// NEEDS     AMX. Where the processor has none, a model does the same and is not timed.
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

void run(const MatmulBf16::Args<float>& x) {
  static thread_local Scratch scratch;
  auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + kDepth) / 2 * kBlock));
  tiles::on_tiles([&](auto tiles) {
    for (int64_t j = 0; j < x.shape.n; j += kBlock) {
      pack(x, j, packed);
      strip<decltype(tiles)>(x, j, packed, 0, x.shape.m);
    }
    tiles.release();
  });
}

std::string supported(const MatmulBf16::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MatmulBf16, {.run = run,
                          .parent = "05_amx_tile",
                          .tiles = {kSide, kBlock, kDepth},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 2},
                          .supported = supported});

}  // namespace
}  // namespace klab
