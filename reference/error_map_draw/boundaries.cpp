// Where error_map_draw turns: blocks of which nothing is known, views without any loss, short blocks, views with lists.
#include "reference/boundaries.h"
#include "reference/error_map_draw/error_map_draw.h"

namespace klab {
namespace {

using Args = ErrorMapDraw::Args<double>;

/// Calls visit(place, losses) for each view, with its row of places and its first loss.
void each_view(const Args& a, auto&& visit) {
  for (int64_t v = 0; v < a.shape.views; ++v) {
    const int64_t* place = a.places + ErrorMapDraw::kPlace * v;
    visit(place, a.losses + place[2]);
  }
}

const Boundary<ErrorMapDraw> kUnknown("loss of a block", {"losses"},
                                      {"e[b] >= 0", "e[b] >= 0 ?", "e[b] < 0 ?"}, kThreeSides,
                                      [](const auto& a, Sides& met) {
                                        for (int64_t b = 0; b < a.shape.blocks; ++b)
                                          met.compare(a.losses[b], 0);
                                      });
const Boundary<ErrorMapDraw> kKnown("known blocks of a view", {"losses"}, {"known > 0 ?"}, kOn | kAbove,
                                    [](const auto& a, Sides& met) {
                                      each_view(a, [&](const int64_t* place, const double* e) {
                                        int64_t known = 0;
                                        for (int64_t b = 0; b < place[3]; ++b) known += e[b] >= 0 ? 1 : 0;
                                        met.compare(known, 0);
                                      });
                                    });
const Boundary<ErrorMapDraw> kAll("loss of a view", {"losses"}, {"all > 0 ?"}, kEither,
                                  [](const auto& a, Sides& met) {
                                    each_view(a, [&](const int64_t* place, const double* e) {
                                      int64_t zeros = 0;
                                      for (int64_t b = 0; b < place[3]; ++b) zeros += e[b] == 0 ? 1 : 0;
                                      met.holds(zeros < place[3]);
                                    });
                                  });
const Boundary<ErrorMapDraw> kShort("pixels of the last block", {"places"}, {"std::min(kBlock"}, kBelow | kOn,
                                    [](const auto& a, Sides& met) {
                                      each_view(a, [&](const int64_t* place, const double*) {
                                        met.compare(place[0] - ErrorMapDraw::kBlock * (place[3] - 1),
                                                    ErrorMapDraw::kBlock);
                                      });
                                    });
const Boundary<ErrorMapDraw> kListed("pixels come from a list", {"places", "listed"}, {"place[1] >= 0 ?"},
                                     kEither, [](const auto& a, Sides& met) {
                                       each_view(a, [&](const int64_t* place, const double*) {
                                         met.holds(place[1] >= 0);
                                       });
                                     });
const CounterWords<ErrorMapDraw, &Args::key> kKey("key", kHolds);

}  // namespace
}  // namespace klab
