// Where draw_rays turns: rays without a pixel, views without lists or depths, lenses, the words of the counter.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

using Args = DrawRays::Args<double>;
using Drawn = DrawRays::Args<float>;

bool has_lens(const double* camera) {
  return camera[4] != 0 || camera[5] != 0 || camera[6] != 0 || camera[7] != 0;
}

/// Lets rays in the order of pixels pass the end of their picture.
void wrap_around(const Drawn& x, Generator& random) {
  if (x.shape.drawn != 0) return;
  const auto before = int64_t(random() % uint64_t(x.shape.rays + 1));
  drawn(x.step[0]) = uint32_t(std::max<int64_t>(0, x.places[0] * x.places[1] - 1 - before));
}

const Boundary<DrawRays> kLive("ray and count", {"rays", "count"}, {"r < *x.count"}, kThreeSides,
                               [](const Args& a, Sides& met) {
                                 for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(r, int64_t{*a.count});
                               });
const Boundary<DrawRays> kWraps(
    "pixel and the last of its picture", {"step", "places", "drawn"}, {"% (place[0] * place[1])"},
    kThreeSides,
    [](const Args& a, Sides& met) {
      for (int64_t r = 0; a.shape.drawn == 0 && r < a.shape.rays; ++r)
        met.compare(int64_t(a.step[0]) + r, a.places[0] * a.places[1] - 1);
    },
    [](const Drawn& x, Generator& random) { wrap_around(x, random); });
const Boundary<DrawRays> kListed("pixels come from a list", {"places", "listed", "drawn"}, {"place[5] >= 0"},
                                 kEither, [](const Args& a, Sides& met) {
                                   for (int64_t v = 0; a.shape.drawn != 0 && v < a.shape.views; ++v)
                                     met.holds(a.places[DrawRays::kPlace * v + 5] >= 0);
                                 });
const Boundary<DrawRays> kKnown("view has true depths", {"places", "depths"},
                                {"s.depths > 0", "place[3] >= 0"}, kEither, [](const Args& a, Sides& met) {
                                  for (int64_t v = 0; v < a.shape.views; ++v)
                                    met.holds(a.shape.depths > 0 && a.places[DrawRays::kPlace * v + 3] >= 0);
                                });
const Boundary<DrawRays> kLens("lens bends rays", {"cameras"},
                               {"c[4] != 0 || c[5] != 0 || c[6] != 0 || c[7] != 0"}, kEither,
                               [](const Args& a, Sides& met) {
                                 for (int64_t v = 0; v < a.shape.views; ++v)
                                   met.holds(has_lens(a.cameras + 20 * v));
                               });
const Boundary<DrawRays> kSecond(
    "second coefficient of a lens", {"cameras"}, {"k2 == 0"}, kThreeSides,
    [](const Args& a, Sides& met) {
      for (int64_t v = 0; v < a.shape.views; ++v)
        if (has_lens(a.cameras + 20 * v)) met.compare(a.cameras[20 * v + 5], 0);
    },
    [](const Drawn& x, Generator& random) {
      wrap_around(x, random);
      for (int64_t v = 0; v < x.shape.views; ++v)
        if (x.cameras[20 * v + 4] != 0 && random() % 2) drawn(x.cameras[20 * v + 5]) = 0;
    });
const Boundary<DrawRays> kFirst("first coefficient of a lens without a second", {"cameras"}, {"k1 < 0 ?"},
                                kBelow | kAbove, [](const Args& a, Sides& met) {
                                  for (int64_t v = 0; v < a.shape.views; ++v)
                                    if (a.cameras[20 * v + 5] == 0 && a.cameras[20 * v + 4] != 0)
                                      met.compare(a.cameras[20 * v + 4], 0);
                                });
const Boundary<DrawRays> kInside("place inside the pixel is drawn", {"drawn"}, {"s.drawn == 2"}, kThreeSides,
                                 [](const Args& a, Sides& met) { met.compare(a.shape.drawn, 1); });
const Boundary<DrawRays> kBackdrop("background is drawn", {"background"}, {"s.background == 2 ?"},
                                   kThreeSides,
                                   [](const Args& a, Sides& met) { met.compare(a.shape.background, 1); });
const Boundary<DrawRays> kPictures("pictures", {"pixels"}, {"s.pixels > 0 ?"}, kOn | kAbove,
                                   [](const Args& a, Sides& met) { met.compare(a.shape.pixels, 0); });
const Boundary<DrawRays> kClear("opacity of a pixel", {"image"}, {}, kOn | kAbove,
                                [](const Args& a, Sides& met) {
                                  for (int64_t i = 0; i < a.shape.pixels; ++i)
                                    met.compare(int{a.image[4 * i + 3]}, 0);
                                });
const Boundary<DrawRays> kOpaque("opaque pixel", {"image"}, {}, kEither, [](const Args& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.pixels; ++i) met.holds(a.image[4 * i + 3] == 255);
});
const CounterWords<DrawRays, &Args::seed> kSeed("seed", kHolds);
const CounterWords<DrawRays, &Args::step> kStep("step");
const NoBoundary<DrawRays> kRest(
    {{"pixel % place[0]", "an index: sizes draw every remainder"},
     {"double(c == 0)", "the direction of rays without a pixel"},
     {"numeric_limits", "steps of a solver: variants take others and agree in its solution"},
     {"inside < 0", "steps of a solver: variants take others and agree in its solution"},
     {"sum != 0 ?", "steps of a solver: variants take others and agree in its solution"},
     {": -1,", "steps of a solver: variants take others and agree in its solution"},
     {"root > 0", "steps of a solver: variants take others and agree in its solution"},
     {"std::min(least", "steps of a solver: variants take others and agree in its solution"},
     {"squared(q) >= fold", "steps of a solver: variants take others and agree in its solution"},
     {"<= enough", "steps of a solver: variants take others and agree in its solution"},
     {"> 1e-12", "steps of a solver: variants take others and agree in its solution"},
     {"halved < 30", "steps of a solver: variants take others and agree in its solution"},
     {") < fold", "steps of a solver: variants take others and agree in its solution"},
     {"halved == 30", "steps of a solver: variants take others and agree in its solution"}});

}  // namespace
}  // namespace klab
