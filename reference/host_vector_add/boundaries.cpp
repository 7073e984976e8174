// Where host_vector_add turns: sums that cancel, infinities of both signs.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/host_vector_add/host_vector_add.h"

namespace klab {

const Boundary<HostVectorAdd> kCancel(
    "sum", {"a", "b"}, {}, kThreeSides,
    [](const auto& x, Sides& met) {
      for (int64_t i = 0; i < x.shape.n; ++i) met.compare(x.a[i] + x.b[i], 0);
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.n; ++i)
        if (random() % 4 == 0) drawn(x.b[i]) = -x.a[i];
    });
const Boundary<HostVectorAdd> kInfinity("infinity", {"a", "b"}, {}, kBelow | kAbove,
                                        [](const auto& x, Sides& met) {
                                          for (int64_t i = 0; i < x.shape.n; ++i)
                                            if (std::isinf(x.a[i])) met.compare(x.a[i], 0);
                                        });

}  // namespace klab
