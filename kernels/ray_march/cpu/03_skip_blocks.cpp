// ray_march.cpu.03_skip_blocks: an empty block of cells is left in one jump.
//
// CHANGE    if a candidate's cell is empty, the distance to the far side of the block known to be empty tells
//           which candidates cannot be samples; on the lattice (cone = 0) they are skipped by one division,
//           on a cone by stepping without lookups. On the Morton curve 64 cells in a row are a block of
//           4×4×4, and 512 one of 8×8×8: if one word or eight are zero the whole block is empty, and the jump
//           goes to its far side.
// EXPECT    up to 4 or 8 times fewer lookups in empty space, which is most of the box; nothing between
//           surfaces, where a jump over one cell costs a division and a wait and saves a lookup or two.
// NUMERICS  bit-exact by contract: the jump stops short of the border by more than its own rounding error,
//           and the candidates in that margin are tested one by one.
// NEEDS     a grid of at least 4 or 8 cells an edge for blocks of that size; smaller ones go cell by cell.
// TRIED     see NOTES.md, cpu.03_skip_blocks
#include <cstring>
#include <vector>
#include "harness/core/registrar.h"

#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

#include "kernels/ray_march/cpu/03_skip_blocks-inl.h"

#include "kernels/ray_march/cpu/01_scalar-inl.h"

KLAB_VARIANT(RayMarch, {.run = run, .parent = "01_scalar", .tiles = {4, 8}, .was = {"02_skip_cells"}});

}  // namespace
}  // namespace klab
