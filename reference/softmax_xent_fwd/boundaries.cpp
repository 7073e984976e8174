// Where softmax_xent_fwd turns: equal largest logits, exponentials that vanish, labels at either end.
#include "reference/softmax_xent_fwd/boundaries.h"

namespace klab {

const SoftmaxBoundaries<SoftmaxXentFwd> kShared(SoftmaxCode{
    .largest = {"std::max_element(x"}, .underflow = {"e > 0"}, .first = {}});

}  // namespace klab
