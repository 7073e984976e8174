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

constexpr int64_t kSide = 16,
                  kDepth = 32;  // rows and columns of a tile of sums; depths of a product of tiles
constexpr int64_t kBlock = 2 * kSide;

#include "kernels/matmul_bf16/cpu/06_amx_blocks-inl.h"

void run(const MatmulBf16::Args<float>& x) {
  constexpr double kEnough = 1 << 20;  // products worth waking a team for
  const auto [m, n, k] = x.shape;
  const int64_t strips = (n + kBlock - 1) / kBlock, blocks = (m + kBlock - 1) / kBlock;
  const int team = double(m) * double(n) * double(k) < kEnough ? 1 : omp_get_max_threads();
  // Few strips are cut across, in whole blocks of rows.
  const int64_t cuts = std::clamp<int64_t>((team + strips - 1) / std::max<int64_t>(strips, 1), 1,
                                           std::max<int64_t>(blocks, 1));
#pragma omp parallel num_threads(team)
  tiles::on_tiles([&](auto tiles) {
    static thread_local Scratch scratch;
    auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + kDepth) / 2 * kBlock));
#pragma omp for schedule(static)
    for (int64_t part = 0; part < strips * cuts; ++part) {
      const int64_t j = part / cuts * kBlock, cut = part % cuts;
      pack(x, j, packed);
      strip<decltype(tiles)>(x, j, packed, std::min(x.shape.m, blocks * cut / cuts * kBlock),
                             std::min(x.shape.m, blocks * (cut + 1) / cuts * kBlock));
    }
    tiles.release();
  });
}

std::string supported(const MatmulBf16::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MatmulBf16, {.run = run,
                          .parent = "06_amx_blocks",
                          .tiles = {kSide, kBlock, kDepth},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 1.5},
                          .supported = supported});

}  // namespace
}  // namespace klab
