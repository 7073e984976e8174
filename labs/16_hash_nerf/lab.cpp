// Lab 16: the trainer. It has no op of its own; its variants are plans (klab train --plan), and
// `klab run hash_nerf` climbs them.
#include "labs/radiance/run/plan_ladder.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "A hash-NeRF: the whole, made of the parts",
    .question = "What does each rung do for a program that people use?",
    .commands = {"train", "eval", "render"},
    .run = run_plan_ladder,
});

}  // namespace
}  // namespace klab
