// Where allreduce_gradients turns: ranks without a block, blocks without a gradient.
#include <algorithm>

#include "reference/allreduce_gradients/allreduce_gradients.h"
#include "reference/boundaries.h"

namespace klab {

const Boundary<AllreduceGradients> kShare("begin of a rank's share and end of the gradient",
                                          {"ranks", "n", "block"}, {"at < s.n ?"}, kThreeSides,
                                          [](const auto& a, Sides& met) {
                                            for (int64_t r = 0; r <= a.shape.ranks; ++r)
                                              met.compare(
                                                  AllreduceGradients::first_block(a.shape, r) * a.shape.block,
                                                  a.shape.n);
                                          });
const Boundary<AllreduceGradients> kUntouched("block without a gradient", {"gradient", "block"}, {}, kEither,
                                              [](const auto& a, Sides& met) {
                                                const auto& s = a.shape;
                                                for (int64_t r = 0; r < s.ranks; ++r)
                                                  for (int64_t begin = 0; begin < s.n; begin += s.block) {
                                                    const double* from = a.gradient + r * s.n;
                                                    met.holds(std::all_of(
                                                        from + begin, from + std::min(s.n, begin + s.block),
                                                        [](double g) { return g == 0; }));
                                                  }
                                              });
const Boundary<AllreduceGradients> kAlone("one rank", {"ranks"}, {}, kOn | kAbove,
                                          [](const auto& a, Sides& met) { met.compare(a.shape.ranks, 1); });
const NoBoundary<AllreduceGradients> kRest(
    {{"std::bit_cast<uint32_t>(mine) == std::bit_cast<uint32_t>(first)", "a relation between outputs"},
     {"std::isnan(mine) && std::isnan(first)", "a relation between outputs"}});

}  // namespace klab
