#include "reference/cast/cast.h"

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "reference/formats.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr std::array<const NarrowFormat*, 4> kFloats = {&kF16, &kBf16, &kE4m3, &kE5m2};

}  // namespace

void Cast::arrange(const Args<float>& x, Generator& random) {
  float& scale = *const_cast<float*>(x.scale);  // arrange() owns the inputs
  scale = std::ldexp(1.0F, int(random() % 33) - 16);
  if (random() % 4 == 0) scale = std::uniform_real_distribution<float>(0.5F, 2)(random);
  const float special[] = {NAN, -NAN, INFINITY, -INFINITY, -0.0F, 1e-45F, -0x1p-126F, 3.4e38F};
  for (int64_t i = 0; i < x.shape.n; ++i) {
    float& value = const_cast<float*>(x.x)[i];
    const uint64_t kind = random() % 16;
    if (kind == 0) value = special[random() % 8] / (random() % 2 ? 1 : scale);
    if (kind > 2) continue;
    if (x.shape.format == int8) {
      if (kind > 0) value = (float(random() % 301) - 150) / 2 / scale;
      continue;
    }
    // A number of the format, or half a step or a little more above it.
    const NarrowFormat& f = *kFloats[size_t(x.shape.format)];
    const uint32_t bits = uint32_t(random() % f.largest);
    const double low = decode(f, bits), step = decode(f, bits + 1) - low;
    const double shares[] = {0, 0.5, 0.5 + 0x1p-9, 0.5 - 0x1p-9};
    if (kind > 0) value = float((low + shares[random() % 4] * step) * (random() % 2 ? 1 : -1)) / scale;
  }
}

void Cast::reference(const Args<double>& x, const Args<double>&) {
  const int64_t width = x.shape.width();
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const double product = double(float(x.x[i]) * float(*x.scale));
    if (x.shape.format == int8) {
      x.out[i] = uint8_t(int8_from(product));
      continue;
    }
    const uint32_t bits = encode(*kFloats[size_t(x.shape.format)], product);
    for (int64_t b = 0; b < width; ++b) x.out[i * width + b] = uint8_t(bits >> 8 * b);
  }
}

}  // namespace klab
