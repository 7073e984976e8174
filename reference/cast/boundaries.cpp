// Where cast turns: ties, and numbers beyond the format.
#include <array>
#include <cmath>

#include "reference/boundaries.h"
#include "reference/cast/cast.h"
#include "reference/formats.h"

namespace klab {
namespace {

using Args = Cast::Args<double>;
using Drawn = Cast::Args<float>;

const NarrowFormat& format_of(int64_t format) {
  static constexpr std::array<const NarrowFormat*, 4> kFormats = {&kF16, &kBf16, &kE4m3, &kE5m2};
  return *kFormats[size_t(format)];
}

/// Calls visit(product, format, bits of its size) for each number with a value.
void each_product(const Args& a, auto&& visit) {
  for (int64_t i = 0; a.shape.format != Cast::int8 && i < a.shape.n; ++i) {
    const auto product = double(float(a.x[i]) * float(*a.scale));
    if (std::isnan(product)) continue;
    const NarrowFormat& f = format_of(a.shape.format);
    visit(std::abs(product), f, encode(f, std::abs(product)));
  }
}

/// Gives all numbers values about the largest integer or the smallest, and one of these to one of them.
void plant_integers(const Drawn& x, Generator& random) {
  drawn(*x.scale) = 1;
  for (int64_t i = 0; i < x.shape.n; ++i)
    drawn(x.x[i]) = float(random() % 5) / 2 + 126 - 255 * float(random() % 2);
  if (x.shape.n > 0) drawn(x.x[random() % uint64_t(x.shape.n)]) = random() % 2 ? 127.0F : -128.0F;
}

const Boundary<Cast> kTie("middle between two numbers of the format", {"x", "scale", "format"}, {}, kEither,
                          [](const auto& a, Sides& met) {
                            each_product(a, [&](double size, const NarrowFormat& f, uint32_t bits) {
                              if (bits == 0 || bits >= f.largest) return;
                              const double y = decode(f, bits);
                              met.holds(size == (y + decode(f, bits - 1)) / 2 ||
                                        size == (y + decode(f, bits + 1)) / 2);
                            });
                          });
const Boundary<Cast> kLargest(
    "largest number of the format", {"x", "scale", "format"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      each_product(
          a, [&](double size, const NarrowFormat& f, uint32_t) { met.compare(size, decode(f, f.largest)); });
    },
    [](const auto& x, Generator& random) {
      if (x.shape.format >= Cast::int8) return plant_integers(x, random);
      drawn(*x.scale) = 1;
      for (int64_t i = 0; i < x.shape.n; ++i)
        if (random() % 4 == 0) {
          const NarrowFormat& f = format_of(x.shape.format);
          drawn(x.x[i]) = float(decode(f, f.largest)) * (random() % 2 ? 1.0F : -1.0F);
        }
    });
const Boundary<Cast> kSmallest(
    "smallest normal number of the format", {"x", "scale", "format"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      each_product(a, [&](double size, const NarrowFormat& f, uint32_t) {
        if (size > 0) met.compare(size, std::ldexp(1.0, f.min_exponent));
      });
    },
    [](const auto& x, Generator& random) {
      if (x.shape.format >= Cast::int8) return plant_integers(x, random);
      drawn(*x.scale) = 1;
      for (int64_t i = 0; i < x.shape.n; ++i)
        if (random() % 4 == 0)
          drawn(x.x[i]) = std::ldexp(random() % 2 ? 1.0F : -1.0F, format_of(x.shape.format).min_exponent);
    });

const Boundary<Cast> kWhole("integers", {"format"}, {"x.shape.format == int8"}, kEither,
                            [](const auto& a, Sides& met) { met.holds(a.shape.format == Cast::int8); });
const Boundary<Cast> kUpper(
    "largest integer", {"x", "scale", "format"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; a.shape.format == Cast::int8 && i < a.shape.n; ++i)
        met.compare(double(float(a.x[i]) * float(*a.scale)), 127);
    },
    [](const auto& x, Generator& random) {
      if (x.shape.format == Cast::int8) plant_integers(x, random);
    });
const Boundary<Cast> kLower("smallest integer", {"x", "scale", "format"}, {}, kThreeSides,
                            [](const auto& a, Sides& met) {
                              for (int64_t i = 0; a.shape.format == Cast::int8 && i < a.shape.n; ++i)
                                met.compare(double(float(a.x[i]) * float(*a.scale)), -128);
                            });
const Boundary<Cast> kHalf("half between two integers", {"x", "scale", "format"}, {}, kEither,
                           [](const auto& a, Sides& met) {
                             for (int64_t i = 0; a.shape.format == Cast::int8 && i < a.shape.n; ++i) {
                               const auto product = double(float(a.x[i]) * float(*a.scale));
                               if (std::abs(product) < 127) met.holds(product - std::floor(product) == 0.5);
                             }
                           });
const NoBoundary<Cast> kRest({{"format == f16 || format == bf16",
                               "bytes of a result, which every format has"}});

}  // namespace
}  // namespace klab
