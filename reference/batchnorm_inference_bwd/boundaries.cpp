// Where batchnorm_inference_bwd turns: channels without variance.
#include "reference/boundaries.h"
#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"

namespace klab {

const Boundary<BatchnormInferenceBwd> kNone("variance of a channel", {"running_var"}, {}, kOn | kAbove,
                                            [](const auto& a, Sides& met) {
                                              for (int64_t j = 0; j < a.shape.c; ++j)
                                                met.compare(a.running_var[j], 0);
                                            });

}  // namespace klab
