// Where visible_compact turns: samples before and behind the pass, samples that it did not have.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/visible_compact/visible_compact.h"

namespace klab {

const Boundary<VisibleCompact> kMost("samples that count and end of the pass",
                                     {"visible_begin", "first", "most"}, {}, kThreeSides,
                                     [](const auto& a, Sides& met) {
                                       for (int64_t r = 0; r < a.shape.rays; ++r)
                                         met.compare(int64_t{a.visible_begin[r + 1] - a.visible_begin[r]},
                                                     a.shape.first + a.shape.most);
                                     });
const Boundary<VisibleCompact> kFirst("samples that count and begin of the pass", {"visible_begin", "first"},
                                      {}, kThreeSides, [](const auto& a, Sides& met) {
                                        for (int64_t r = 0; r < a.shape.rays; ++r)
                                          met.compare(int64_t{a.visible_begin[r + 1] - a.visible_begin[r]},
                                                      a.shape.first);
                                      });
const Boundary<VisibleCompact> kHad("sample that counts and samples of the pass", {"begin", "visible_begin"},
                                    {"i - s.first < had"}, kThreeSides, [](const auto& a, Sides& met) {
                                      for (int64_t r = 0; r < a.shape.rays; ++r) {
                                        const int64_t n = a.visible_begin[r + 1] - a.visible_begin[r],
                                                      had = a.begin[r + 1] - a.begin[r];
                                        for (int64_t i = a.shape.first;
                                             i < std::min(n, a.shape.first + a.shape.most); ++i)
                                          met.compare(i - a.shape.first, had);
                                      }
                                    });

}  // namespace klab
