#include "reference/gs_bin/gs_bin.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/generator.h"

namespace klab {
namespace {

struct Span {
  int64_t begin, end;
};

/// Returns the tiles covered along an axis of `count` tiles. The doubles hold floats.
Span covered(double mean, double extent, int64_t count) {
  const float low = float(mean) - float(extent), high = float(mean) + float(extent);
  const auto tile = [&](float at) {
    return int64_t(std::clamp(std::floor(double(at / 16.0F)), -1.0, double(count)));
  };
  return {std::max<int64_t>(tile(low), 0), std::min(tile(high) + 1, count)};
}

}  // namespace

void GsBin::arrange(const Args<float>& x, Generator& random) {
  using Uniform = std::uniform_real_distribution<double>;
  const Shape& s = x.shape;
  auto *mean = const_cast<float*>(x.mean), *extent = const_cast<float*>(x.extent);
  auto* order = const_cast<int32_t*>(x.order);
  // A box of side 2e covers 2e/16 + 1 tiles of an axis on average.
  const double each = s.n > 0 ? double(s.pairs) / double(s.n) : 0;
  const double usual = 8 * std::max(std::sqrt(each) - 1, 0.05);
  for (int64_t i = 0; i < s.n; ++i) {
    mean[i] = float(Uniform(0, double(s.width))(random));
    mean[s.n + i] = float(Uniform(0, double(s.height))(random));
    for (int64_t axis = 0; axis < 2; ++axis)
      extent[axis * s.n + i] = float(usual * Uniform(0.5, 1.5)(random));
    const uint64_t place = random() % 32;
    if (place == 0) mean[i] = float(Uniform(-double(s.width), 2 * double(s.width))(random));
    if (place == 1) extent[i] = 0;
    if (!random.widely) continue;
    if (place % 8 == 2) extent[s.n + i] = float(s.height);
    if (place % 8 == 3) {  // ends where a tile ends
      mean[i] = float(16 * int64_t(random() % uint64_t(s.columns() + 1)));
      extent[i] = random() % 2 ? 16.0F : 8.0F;
    }
    if (place == 4) extent[i] = 1e30F;
    if (place == 5) extent[s.n + i] = 0;
  }
  std::iota(order, order + s.n, 0);
  std::shuffle(order, order + s.n, random);
}

void GsBin::reference(const Args<double>& x, const Args<double>&) {
  const Shape& s = x.shape;
  std::vector<std::vector<int32_t>> lists(size_t(s.tiles()));
  for (int64_t k = 0; k < s.n; ++k) {
    const int64_t i = x.order[k];
    if (!(x.extent[i] > 0 && x.extent[s.n + i] > 0)) continue;
    const Span across = covered(x.mean[i], x.extent[i], s.columns());
    const Span down = covered(x.mean[s.n + i], x.extent[s.n + i], s.rows());
    for (int64_t row = down.begin; row < down.end; ++row)
      for (int64_t column = across.begin; column < across.end; ++column)
        lists[size_t(row * s.columns() + column)].push_back(int32_t(i));
  }
  int64_t count = 0;
  for (int64_t t = 0; t < s.tiles(); ++t) {
    x.tile_begin[t] = int32_t(std::min(count, s.pairs));
    for (const int32_t i : lists[size_t(t)]) {
      if (count < s.pairs) x.id[count] = i;
      ++count;
    }
  }
  x.tile_begin[s.tiles()] = int32_t(std::min(count, s.pairs));
  for (int64_t k = count; k < s.pairs; ++k) x.id[k] = int32_t(s.n);
  x.needed[0] = int32_t(count);
}

}  // namespace klab
