// Positions that hashgrid_fwd and hashgrid_bwd are tried at.
#pragma once

#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {

/// What both directions do to drawn positions [dim, n]: as `coherent` says, or, drawn widely, anything in [0, 1].
void hashgrid_positions(const HashgridShape& shape, float* positions, Generator& random);

}  // namespace klab
