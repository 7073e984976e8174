// The operations of the trainer, for plans.
#pragma once

#include <string>
#include <vector>

namespace klab {

/// Returns the operations of trainer, renderer and image fit, in the order of a training step.
/// composite_loss_bwd replaces composite_fwd, pixel_loss_fwd, pixel_loss_bwd and composite_bwd if the
/// config's losses allow it (see TrainStep::fusable).
const std::vector<std::string>& plan_ops();

}  // namespace klab
