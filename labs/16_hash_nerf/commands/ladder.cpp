// The ladder of lab 16: klab run hash_nerf, plan by plan.
#include "harness/core/lab.h"
#include "labs/radiance/run/plan_ladder.h"

namespace klab::ladder_lab {
namespace {

KLAB_LADDER(run_plan_ladder);

}  // namespace
}  // namespace klab::ladder_lab
