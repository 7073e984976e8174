// Where dropout_fwd turns: random words next to the threshold, and the words of the counter.
#include "reference/boundaries.h"
#include "reference/dropout_fwd/dropout_fwd.h"
#include "reference/dropout_fwd/philox.h"
#include "reference/dropout_fwd/small_words.h"

namespace klab {
namespace {

using Args = DropoutFwd::Args<double>;

const Boundary<DropoutFwd> kThreshold("word and threshold", {"p", "seed", "offset"}, {">= uint32_t(p"},
                                      kThreeSides, [](const auto& a, Sides& met) {
                                        for (int64_t i = 0; i < a.shape.n; ++i) {
                                          const auto block = uint64_t(i) / 4;
                                          const auto words =
                                              dropout::random_words({uint32_t(block), uint32_t(block >> 32),
                                                                     a.offset[0], a.offset[1]},
                                                                    {a.seed[0], a.seed[1]});
                                          met.compare(words[size_t(i % 4)], uint32_t(float(*a.p) * 0x1p32F));
                                        }
                                      });
const Boundary<DropoutFwd> kRare(
    "p is below 2^-16 and drops something", {"p", "seed", "offset"}, {}, kHolds,
    [](const Args& a, Sides& met) {
      const float p = float(*a.p);
      for (int64_t i = 0; p > 0 && p < 0x1p-16F && i < a.shape.n; ++i)
        if (!DropoutFwd::keeps(p, a.seed, a.offset, i)) met.holds(true);
    },
    [](const auto& x, Generator& random) { dropout::meet_small_word(x, random); });
const Boundary<DropoutFwd> kNone("nothing is dropped", {"p"}, {}, kOn | kAbove,
                                 [](const auto& a, Sides& met) { met.compare(*a.p, 0); });
const CounterWords<DropoutFwd, &Args::seed> kSeed("seed", kHolds);
const CounterWords<DropoutFwd, &Args::offset> kOffset("offset");
const NoBoundary<DropoutFwd> kRest({{"i % 4", "one of a block's four words: any size above 4 draws all"}});

}  // namespace
}  // namespace klab
