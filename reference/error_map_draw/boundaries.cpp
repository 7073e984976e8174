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
/// Whether a view's mean is a number in double and 0 as a float: blocks of which nothing is known are drawn, or are not.
bool is_rounded_away(const double* e, int64_t blocks) {
  double known = 0, sum = 0;
  for (int64_t b = 0; b < blocks; ++b)
    if (e[b] >= 0) ++known, sum += e[b];
  return known > 0 && known < double(blocks) && sum > 0 && float(sum / known) == 0;
}

const Boundary<ErrorMapDraw> kRounded(
    "mean of known losses that a float does not hold", {"losses"}, {}, kEither,
    [](const auto& a, Sides& met) {
      each_view(a, [&](const int64_t* place, const double* e) { met.holds(is_rounded_away(e, place[3])); });
    },
    [](const auto& x, Generator& random) {
      constexpr float kLeast = 0x1p-149F;
      for (int64_t v = 0; v < x.shape.views; ++v) {
        const int64_t *place = x.places + ErrorMapDraw::kPlace * v, blocks = place[3];
        if (blocks < 5) continue;
        // One loss among at least three known ones, and at least one that is not known.
        const float* e = x.losses + place[2];
        for (int64_t b = 0; b < blocks; ++b) drawn(e[b]) = b < 3 || random() % 2 == 0 ? 0.0F : -1.0F;
        drawn(e[random() % 3]) = kLeast;
        drawn(e[blocks - 1]) = -1;
      }
    });
const CounterWords<ErrorMapDraw, &Args::key> kKey("key", kHolds);

}  // namespace
}  // namespace klab
