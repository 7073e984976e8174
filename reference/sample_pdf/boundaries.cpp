// Where sample_pdf turns: bins without weight, the first place in a bin.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/sample_pdf/sample_pdf.h"

namespace klab {

const Boundary<SamplePdf> kWeight("weight of a bin", {"weights"}, {}, kOn | kAbove,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t i = 0; i < a.shape.rays * a.shape.bins; ++i)
                                      met.compare(a.weights[i], 0);
                                  });
const Boundary<SamplePdf> kNone("ray without weights", {"weights"}, {}, kEither,
                                [](const auto& a, Sides& met) {
                                  for (int64_t r = 0; r < a.shape.rays; ++r)
                                    met.holds(std::all_of(a.weights + r * a.shape.bins,
                                                          a.weights + (r + 1) * a.shape.bins,
                                                          [](double w) { return w == 0; }));
                                });
const Boundary<SamplePdf> kAlone(
    "one bin has nearly all the weight of its ray", {"weights", "bins"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; a.shape.bins > 1 && r < a.shape.rays; ++r) {
        const double *from = a.weights + r * a.shape.bins, *to = from + a.shape.bins;
        double sum = 0;
        for (const double* w = from; w < to; ++w) sum += *w;
        if (sum > 0 && *std::max_element(from, to) == sum) met.holds(true);
      }
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r) {
        const auto kept = int64_t(random() % uint64_t(x.shape.bins));
        for (int64_t b = 0; b < x.shape.bins; ++b)
          drawn(x.weights[r * x.shape.bins + b]) = b == kept ? 1.0F : 0.0F;
      }
    });
const Boundary<SamplePdf> kJitter("place in a stratum", {"jitter"}, {}, kOn | kAbove,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t i = 0; i < a.shape.rays * a.shape.count; ++i)
                                      met.compare(a.jitter[i], 0);
                                  });
const NoBoundary<SamplePdf> kRest(
    {{"std::clamp(u, 0.0, 1.0)", "a bound of rounding errors, which no kernel computes"},
     {"std::upper_bound(below_", "two bins meet in one distance: either gives it"},
     {"std::max(std::abs(edges", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
