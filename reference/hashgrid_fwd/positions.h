// Positions for checking hashgrid_fwd and hashgrid_bwd.
#pragma once

#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {

/// Rearranges drawn positions [dim, n] for both directions: by `coherent`, or, drawn widely, anything in [0,
/// 1].
void hashgrid_positions(const HashgridShape& shape, float* positions, Generator& random);

}  // namespace klab
