// Where error_map_weigh turns: rays that were not drawn, and the words of the counter.
#include "reference/boundaries.h"
#include "reference/chosen_words.h"
#include "reference/dropout_fwd/philox.h"
#include "reference/error_map_weigh/error_map_weigh.h"

namespace klab {
namespace {

using Args = ErrorMapWeigh::Args<double>;
using Drawn = ErrorMapWeigh::Args<float>;

const Boundary<ErrorMapWeigh> kDrawn("ray and count", {"rays", "count"},
                                     {"r < *x.count", "drawn ? x.blocks[at] : -1"}, kThreeSides,
                                     [](const auto& a, Sides& met) {
                                       for (int64_t r = 0; r < a.shape.rays; ++r)
                                         met.compare(r, int64_t{*a.count});
                                     });
dropout::Counter words_of(const Args& a, int64_t ray) {
  return dropout::random_words({uint32_t(ray), 0, a.step[0], a.step[1]}, {a.seed[0], a.seed[1]});
}

void use_key(const Drawn& x, uint32_t key) {
  drawn(x.seed[0]) = key;
  drawn(x.seed[1]) = kHighSeed;
  drawn(x.step[0]) = 1;
  drawn(x.step[1]) = 0;
  drawn(*x.count) = int32_t(x.shape.rays);
}

const Boundary<ErrorMapWeigh> kViewWord(
    "word is just below that of the next view", {"seed", "views"}, {}, kEither,
    [](const Args& a, Sides& met) {
      for (int64_t r = 0; r < *a.count; ++r) met.holds(is_below_next(words_of(a, r)[0], a.shape.views));
    },
    [](const Drawn& x, Generator& random) {
      uint32_t key = kViewKeys[0].seed;
      for (const ChosenKey& k : kViewKeys)
        if (k.views == x.shape.views && random() % 4 != 0) key = k.seed;
      use_key(x, key);
    });
const Boundary<ErrorMapWeigh> kPlaceWord(
    "word is just below that behind the last place", {"seed", "list"}, {}, kEither,
    [](const Args& a, Sides& met) {
      for (int64_t r = 0; r < *a.count; ++r) met.holds(is_below_next(words_of(a, r)[1], a.shape.list));
    },
    [](const Drawn& x, Generator&) { use_key(x, kPlaceKey); });
const CounterWords<ErrorMapWeigh, &Args::seed> kSeed("seed", kHolds);
const CounterWords<ErrorMapWeigh, &Args::step> kStep("step");

}  // namespace
}  // namespace klab
