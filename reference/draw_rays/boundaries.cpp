// Where draw_rays turns: rays without a pixel, views without lists or depths, lenses, the words of the counter.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/chosen_words.h"
#include "reference/draw_rays/draw_rays.h"
#include "reference/dropout_fwd/philox.h"

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
                               [](const auto& a, Sides& met) {
                                 for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(r, int64_t{*a.count});
                               });
const Boundary<DrawRays> kWraps(
    "pixel and the last of its picture", {"step", "places", "drawn"}, {"% (place[0] * place[1])"},
    kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; a.shape.drawn == 0 && r < a.shape.rays; ++r)
        met.compare(int64_t(a.step[0]) + r, a.places[0] * a.places[1] - 1);
    },
    [](const auto& x, Generator& random) { wrap_around(x, random); });
const Boundary<DrawRays> kListed("pixels come from a list", {"places", "listed", "drawn"}, {"place[5] >= 0"},
                                 kEither, [](const auto& a, Sides& met) {
                                   for (int64_t v = 0; a.shape.drawn != 0 && v < a.shape.views; ++v)
                                     met.holds(a.places[DrawRays::kPlace * v + 5] >= 0);
                                 });
const Boundary<DrawRays> kKnown("view has true depths", {"places", "depths"},
                                {"s.depths > 0", "place[3] >= 0"}, kEither, [](const auto& a, Sides& met) {
                                  for (int64_t v = 0; v < a.shape.views; ++v)
                                    met.holds(a.shape.depths > 0 && a.places[DrawRays::kPlace * v + 3] >= 0);
                                });
const Boundary<DrawRays> kLens("lens bends rays", {"cameras"},
                               {"c[4] != 0 || c[5] != 0 || c[6] != 0 || c[7] != 0"}, kEither,
                               [](const auto& a, Sides& met) {
                                 for (int64_t v = 0; v < a.shape.views; ++v)
                                   met.holds(has_lens(a.cameras + 20 * v));
                               });
const Boundary<DrawRays> kSecond(
    "second coefficient of a lens", {"cameras"}, {"k2 == 0"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t v = 0; v < a.shape.views; ++v)
        if (has_lens(a.cameras + 20 * v)) met.compare(a.cameras[20 * v + 5], 0);
    },
    [](const auto& x, Generator& random) {
      wrap_around(x, random);
      for (int64_t v = 0; v < x.shape.views; ++v)
        if (x.cameras[20 * v + 4] != 0 && random() % 2) drawn(x.cameras[20 * v + 5]) = 0;
    });
const Boundary<DrawRays> kFirst("first coefficient of a lens without a second", {"cameras"}, {"k1 < 0 ?"},
                                kBelow | kAbove, [](const auto& a, Sides& met) {
                                  for (int64_t v = 0; v < a.shape.views; ++v)
                                    if (a.cameras[20 * v + 5] == 0 && a.cameras[20 * v + 4] != 0)
                                      met.compare(a.cameras[20 * v + 4], 0);
                                });
const Boundary<DrawRays> kInside("place inside the pixel is drawn", {"drawn"}, {"s.drawn == 2"}, kThreeSides,
                                 [](const auto& a, Sides& met) { met.compare(a.shape.drawn, 1); });
const Boundary<DrawRays> kBackdrop("background is drawn", {"background"}, {"s.background == 2 ?"},
                                   kThreeSides,
                                   [](const auto& a, Sides& met) { met.compare(a.shape.background, 1); });
const Boundary<DrawRays> kPictures("pictures", {"pixels"}, {"s.pixels > 0 ?"}, kOn | kAbove,
                                   [](const auto& a, Sides& met) { met.compare(a.shape.pixels, 0); });
const Boundary<DrawRays> kClear("opacity of a pixel", {"image"}, {}, kOn | kAbove,
                                [](const auto& a, Sides& met) {
                                  for (int64_t i = 0; i < a.shape.pixels; ++i)
                                    met.compare(int{a.image[4 * i + 3]}, 0);
                                });
const Boundary<DrawRays> kOpaque("opaque pixel", {"image"}, {}, kEither, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.pixels; ++i) met.holds(a.image[4 * i + 3] == 255);
});
dropout::Counter words_of(const uint32_t* step, const uint32_t* seed, int64_t ray) {
  return dropout::random_words({uint32_t(ray), 0, step[0], step[1]}, {seed[0], seed[1]});
}

int64_t view_of(const dropout::Counter& words, int64_t views) {
  return int64_t(uint64_t(words[0]) * uint64_t(views) >> 32);
}

void use_key(const Drawn& x, uint32_t key) {
  drawn(x.seed[0]) = key;
  drawn(x.seed[1]) = kHighSeed;
  drawn(x.step[0]) = 1;
  drawn(x.step[1]) = 0;
  drawn(*x.count) = int32_t(x.shape.rays);
}

/// Takes seeds and numbers of pixels until the word of some ray is just below that of the next pixel.
void meet_pixel(const Drawn& x) {
  const auto& s = x.shape;
  constexpr int kRays = 20'000;
  constexpr int64_t kMost = 97;  // pixels
  const int64_t each = s.pixels > 0 ? s.pixels / s.views : 64;
  for (int tried = 0; tried < kRays; ++drawn(x.seed[0]))
    for (int64_t r = 0; r < s.rays && tried < kRays; ++r, ++tried) {
      const auto words = words_of(x.step, x.seed, r);
      int64_t* place = &drawn(x.places[DrawRays::kPlace * view_of(words, s.views)]);
      const bool is_list = place[5] >= 0;
      for (int64_t n = std::min(kMost, is_list ? place[4] : each); n > 1; --n) {
        if (!is_below_next(words[1], n)) continue;
        place[4] = n;
        if (!is_list) place[0] = n, place[1] = 1;
        drawn(*x.count) = int32_t(s.rays);
        return;
      }
    }
}

const Boundary<DrawRays> kViewWord(
    "word is just below that of the next view", {"seed", "views"}, {}, kEither,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; a.shape.drawn != 0 && r < *a.count; ++r)
        met.holds(is_below_next(words_of(a.step, a.seed, r)[0], a.shape.views));
    },
    [](const auto& x, Generator& random) {
      if (x.shape.drawn == 0 || x.shape.rays == 0) return;
      uint32_t key = kViewKeys[0].seed;
      for (const ChosenKey& k : kViewKeys)
        if (k.views == x.shape.views && random() % 2) key = k.seed;
      use_key(x, key);
    });
const Boundary<DrawRays> kPixelWord(
    "word is just below that of the next pixel", {"seed", "places"}, {}, kEither,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; a.shape.drawn != 0 && r < *a.count; ++r) {
        const auto words = words_of(a.step, a.seed, r);
        met.holds(is_below_next(words[1], a.places[DrawRays::kPlace * view_of(words, a.shape.views) + 4]));
      }
    },
    [](const auto& x, Generator& random) {
      if (x.shape.drawn == 0 || x.shape.rays == 0) return;
      if (random() % 2)
        use_key(x, kPlaceKey);
      else
        meet_pixel(x);
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
