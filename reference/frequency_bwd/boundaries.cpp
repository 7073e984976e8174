// Where frequency_bwd turns: positions at whole turns.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/frequency_bwd/frequency_bwd.h"

namespace klab {

const Boundary<FrequencyBwd> kWhole(
    "position is a whole number", {"positions"}, {}, kEither,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n * a.shape.dim; ++i)
        met.holds(a.positions[i] == std::floor(a.positions[i]));
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.n * x.shape.dim; ++i)
        if (random() % 4 == 0) drawn(x.positions[i]) = float(int(random() % 5) - 2);
    });

}  // namespace klab
