// Where dropout_bwd turns: as the forward, whose mask it makes again.
#include "reference/boundaries.h"
#include "reference/dropout_bwd/dropout_bwd.h"
#include "reference/dropout_fwd/philox.h"
#include "reference/dropout_fwd/small_words.h"

namespace klab {
namespace {

using Args = DropoutBwd::Args<double>;

const Boundary<DropoutBwd> kThreshold(
    "word and threshold", {"p", "seed", "offset"}, {}, kThreeSides, [](const auto& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i) {
        const auto block = uint64_t(i) / 4;
        const auto words = dropout::random_words(
            {uint32_t(block), uint32_t(block >> 32), a.offset[0], a.offset[1]}, {a.seed[0], a.seed[1]});
        met.compare(words[size_t(i % 4)], uint32_t(float(*a.p) * 0x1p32F));
      }
    });
const Boundary<DropoutBwd> kRare(
    "p is below 2^-16 and drops something", {"p", "seed", "offset"}, {}, kHolds,
    [](const Args& a, Sides& met) {
      const float p = float(*a.p);
      for (int64_t i = 0; p > 0 && p < 0x1p-16F && i < a.shape.n; ++i)
        if (!DropoutFwd::keeps(p, a.seed, a.offset, i)) met.holds(true);
    },
    [](const auto& x, Generator& random) { dropout::meet_small_word(x, random); });
const Boundary<DropoutBwd> kNone("nothing is dropped", {"p"}, {}, kOn | kAbove,
                                 [](const auto& a, Sides& met) { met.compare(*a.p, 0); });
const CounterWords<DropoutBwd, &Args::seed> kSeed("seed", kHolds);
const CounterWords<DropoutBwd, &Args::offset> kOffset("offset");

}  // namespace
}  // namespace klab
