// matmul_int8.cpu.07_amx_blocks: four tiles of sums, so that products need not wait for each other.
//
// CHANGE    a block of 2 x 2 tiles of sums: two tiles of A and two of B are loaded for four products. B is packed 32 columns at a
//           time by a loop that makes vectors, and tiles are configured only where a block's size changes.
// EXPECT    four chains of sums where the parent has one, and a load for each product instead of two: 3 times the parent, until
//           the instruction's own rate, one in 16 cycles, holds it.
// NUMERICS  exact sums; a conversion and a product.
// NEEDS     AMX. Where the processor has none, a model does the same and is not timed.
#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/tiles.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

using Args = MatmulInt8::Args<float>;
using Factor = int8_t;

template <class Tiles, int sums, int a, int b>
void dot() {
  Tiles::template dot_ss<sums, a, b>();
}

#include "kernels/common/matmul/06_amx_blocks-inl.h"

#include "kernels/matmul_int8/cpu/07_amx_blocks-inl.h"

void run(const MatmulInt8::Args<float>& x) {
  static thread_local Scratch scratch;
  auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + kDepth) / 4 * kBlock));
  tiles::on_tiles([&](auto tiles) {
    for (int64_t j = 0; j < x.shape.n; j += kBlock) {
      pack(x, j, packed);
      strip<decltype(tiles)>(x, j, packed, 0, x.shape.m);
    }
    tiles.release();
  });
}

std::string supported(const MatmulInt8::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MatmulInt8, {.run = run,
                          .parent = "06_amx_tile",
                          .tiles = {kSide, kBlock, kDepth},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 2},
                          .supported = supported});

}  // namespace
}  // namespace klab
