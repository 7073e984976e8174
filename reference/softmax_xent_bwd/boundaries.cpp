// Where softmax_xent_bwd turns: equal largest logits, exponentials that vanish, labels at either end.
#include "reference/softmax_xent_fwd/boundaries.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab {

const SoftmaxBoundaries<SoftmaxXentBwd> kShared(SoftmaxCode{
    .largest = {}, .underflow = {}, .first = {"j == x.labels[i] ?"}});
const NoBoundary<SoftmaxXentBwd> kRest({{"p > 0 ?", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
