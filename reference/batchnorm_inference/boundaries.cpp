// Where batchnorm_inference turns: channels without variance.
#include "reference/boundaries.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"

namespace klab {

const Boundary<BatchnormInference> kNone("variance of a channel", {"running_var"}, {}, kOn | kAbove,
                                         [](const auto& a, Sides& met) {
                                           for (int64_t j = 0; j < a.shape.c; ++j)
                                             met.compare(a.running_var[j], 0);
                                         });
const NoBoundary<BatchnormInference> kRest({{"i % c", "an index: sizes draw every remainder"}});

}  // namespace klab
