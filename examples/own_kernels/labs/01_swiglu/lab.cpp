// Lab 01 of this project: sizes at which swiglu is checked and timed.
#include "harness/core/lab.h"
#include "reference/swiglu_bwd/swiglu_bwd.h"
#include "reference/swiglu_fwd/swiglu_fwd.h"

namespace klab {
namespace {

LabOp lab_op(Op op) {
  return {.op = std::move(op),
          .bench = {{.name = "in L2", .shape = {1 << 14}, .cache = Cache::hot},
                    {.name = "a million", .shape = {1 << 20}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 4099, 100003}},
          .counted = {1000},
          .traffic = Traffic::copy,
          .huge = 1e12};
}

KLAB_LAB({
    .title = "A gated unit: forward and backward",
    .question = "What do a contract, two ladders and a lab of one's own take?",
    .ops = {lab_op(make_op<SwigluFwd>()), lab_op(make_op<SwigluBwd>())},
});

}  // namespace
}  // namespace klab
