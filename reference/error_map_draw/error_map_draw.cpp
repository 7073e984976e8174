#include "reference/error_map_draw/error_map_draw.h"

#include <algorithm>

#include "reference/generator.h"

namespace klab {

void ErrorMapDraw::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.key)[k] = uint32_t(random());
  *const_cast<float*>(x.share) = random.widely ? float(random() % 96) * 0.01F : 0.5F;
  const int64_t room = s.listed / s.views;
  int64_t first = 0;
  for (int64_t v = 0; v < s.views; ++v) {
    auto* place = const_cast<int64_t*>(x.places) + kPlace * v;
    const int64_t own = (s.blocks - first) / (s.views - v);
    const int64_t last = random() % 3 == 0 ? kBlock : 1 + int64_t(random() % uint64_t(kBlock));
    place[0] = kBlock * (own - 1) + last;
    place[1] = room >= place[0] && random() % 4 != 0 ? v * room : -1;
    place[2] = first;
    place[3] = own;
    const uint64_t kind = random() % 6;  // nothing known, no loss anywhere, or anything
    for (int64_t b = first; b < first + own; ++b)
      const_cast<float*>(x.losses)[b] = kind == 0 || (kind > 1 && random() % 4 == 0) ? -1.0F
                                        : kind == 1 || random() % 8 == 0             ? 0.0F
                                                                         : float(1 + random() % 1000) * 1e-3F;
    first += own;
  }
  for (int64_t i = 0; i < s.listed; ++i) const_cast<int32_t*>(x.seen)[i] = int32_t(random() % (1U << 20));
}

void ErrorMapDraw::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t list = x.shape.list;
  for (int64_t v = 0; v < x.shape.views; ++v) {
    const int64_t *place = x.places + kPlace * v, n = place[0], blocks = place[3];
    const double* e = x.losses + place[2];
    double known = 0, sum = 0, all = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      known += double(e[b] >= 0);
      sum += e[b] >= 0 ? e[b] : 0;
    }
    const double mean = double(float(known > 0 ? sum / known : 1));
    const auto inside = [&](int64_t b) { return double(std::min(kBlock, n - b * kBlock)); };
    const auto loss = [&](int64_t b) { return e[b] < 0 ? mean : e[b]; };
    for (int64_t b = 0; b < blocks; ++b) all += loss(b) * inside(b);
    const double even = 1 / double(n);
    const auto probability = [&](int64_t b) {
      return all > 0 ? (1 - *x.share) * even + *x.share * loss(b) / all : even;
    };
    const auto random = [&](int64_t i) {
      return double(random_number(key_of(x.key), uint64_t(v) * uint64_t(list + 1) + uint64_t(i)));
    };
    int64_t b = 0;
    double end = probability(0) * inside(0);
    for (int64_t k = 0; k < list; ++k) {
      const double at = (random(0) + double(k)) / double(list);
      for (; b + 1 < blocks && at >= end; ++b) end += probability(b + 1) * inside(b + 1);
      const int64_t i = b * kBlock + int64_t(random(1 + k) * inside(b)), out = v * list + k;
      x.pixels[out] = place[1] >= 0 ? x.seen[place[1] + i] : int32_t(i);
      x.blocks[out] = int32_t(place[2] + b);
      x.weights[out] = magnitude.weights[out] = 1 / (double(n) * probability(b));
    }
  }
}

}  // namespace klab
