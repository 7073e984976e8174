// Where round_narrow turns: ties, and numbers that the format loses.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/cast/cast.h"
#include "reference/formats.h"
#include "reference/round_narrow/round_narrow.h"

namespace klab {
namespace {

using Args = RoundNarrow::Args<double>;

/// Calls visit(product, format, bits of its size) for each number with a value.
void each_product(const Args& a, auto&& visit) {
  for (int64_t i = 0; i < a.shape.n; ++i) {
    const auto product = double(float(a.x[i]) * float(*a.factor));
    if (std::isnan(product)) continue;
    const NarrowFormat& f = RoundNarrow::format_of(a.shape.format);
    visit(std::abs(product), f, encode(f, std::abs(product)));
  }
}

const Boundary<RoundNarrow> kTie("middle between two numbers of the format", {"x", "factor", "format"}, {},
                                 kEither, [](const auto& a, Sides& met) {
                                   each_product(a, [&](double size, const NarrowFormat& f, uint32_t bits) {
                                     if (bits == 0 || bits >= f.largest) return;
                                     const double y = decode(f, bits);
                                     met.holds(size == (y + decode(f, bits - 1)) / 2 ||
                                               size == (y + decode(f, bits + 1)) / 2);
                                   });
                                 });
const Boundary<RoundNarrow> kLargest(
    "largest number of the format", {"x", "factor", "format"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      each_product(
          a, [&](double size, const NarrowFormat& f, uint32_t) { met.compare(size, decode(f, f.largest)); });
    },
    [](const auto& x, Generator& random) {
      if (x.shape.format >= Cast::int8) return;
      drawn(*x.factor) = 1;
      for (int64_t i = 0; i < x.shape.n; ++i)
        if (random() % 4 == 0) {
          const NarrowFormat& f = RoundNarrow::format_of(x.shape.format);
          drawn(x.x[i]) = float(decode(f, f.largest)) * (random() % 2 ? 1.0F : -1.0F);
        }
    });
const Boundary<RoundNarrow> kSmallest(
    "smallest normal number of the format", {"x", "factor", "format"}, {}, kThreeSides,
    [](const auto& a, Sides& met) {
      each_product(a, [&](double size, const NarrowFormat& f, uint32_t) {
        if (size > 0) met.compare(size, std::ldexp(1.0, f.min_exponent));
      });
    },
    [](const auto& x, Generator& random) {
      if (x.shape.format >= Cast::int8) return;
      drawn(*x.factor) = 1;
      for (int64_t i = 0; i < x.shape.n; ++i)
        if (random() % 4 == 0)
          drawn(x.x[i]) =
              std::ldexp(random() % 2 ? 1.0F : -1.0F, RoundNarrow::format_of(x.shape.format).min_exponent);
    });

const Boundary<RoundNarrow> kZero("product", {"x", "factor"}, {"product != 0", "product != 0 &&"},
                                  kThreeSides, [](const auto& a, Sides& met) {
                                    for (int64_t i = 0; i < a.shape.n; ++i) met.compare(a.x[i], 0);
                                  });
const Boundary<RoundNarrow> kVanishes("small number becomes zero", {"x", "factor", "format"}, {"y == 0"},
                                      kEither, [](const auto& a, Sides& met) {
                                        each_product(a, [&](double size, const NarrowFormat&, uint32_t bits) {
                                          if (size > 0) met.holds(bits == 0);
                                        });
                                      });
const Boundary<RoundNarrow> kOverflow("finite number becomes infinite", {"x", "factor", "format"},
                                      {"std::isfinite(product) && std::isinf(y)"}, kEither,
                                      [](const auto& a, Sides& met) {
                                        each_product(a,
                                                     [&](double size, const NarrowFormat& f, uint32_t bits) {
                                                       if (std::isfinite(size))
                                                         met.holds(std::isinf(decode(f, bits)));
                                                     });
                                      });
const Boundary<RoundNarrow> kInfinite("infinity", {"x"}, {}, kEither, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i) met.holds(std::isinf(a.x[i]));
});
const NoBoundary<RoundNarrow> kRest({{"f.name == names[k]",
                                      "a format's number from its name, not part of the op"},
                                     {"return -1;", "a format's number from its name, not part of the op"}});

}  // namespace
}  // namespace klab
