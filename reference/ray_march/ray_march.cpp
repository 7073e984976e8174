#include "reference/ray_march/ray_march.h"

#include "reference/generator.h"

namespace klab {
namespace {

bool occupied(const RayMarch::Args<double>& x, const float p[3]) {
  const float c[3] = {p[0] - 0.5F, p[1] - 0.5F, p[2] - 0.5F};
  const float away = std::max({std::abs(c[0]), std::abs(c[1]), std::abs(c[2])});
  const int k = RayMarch::cascade_of(away, x.shape.cascades);
  uint32_t cell[3];
  for (int axis = 0; axis < 3; ++axis) cell[axis] = uint32_t(RayMarch::cell_of(c[axis], k, x.shape.grid));
  const uint32_t index = RayMarch::morton(cell[0], cell[1], cell[2]);
  const int64_t bytes = x.shape.grid * x.shape.grid * x.shape.grid / 8;
  return (x.occupancy[k * bytes + index / 8] >> (index % 8)) & 1;
}

// Places blobs of occupied cells everywhere: whole bytes are neighbors on the Morton curve, and so are runs
// of bytes.
void strew_blobs(const RayMarch::Args<float>& x, Generator& random) {
  const RayMarch::Shape& s = x.shape;
  const int64_t bytes = s.cascades * s.grid * s.grid * s.grid / 8;
  auto* bits = const_cast<uint8_t*>(x.occupancy);
  for (int64_t b = 0; b < bytes;) {
    const int64_t run = std::min<int64_t>(bytes - b, 1 + int64_t(random() % 64));
    const bool solid = random() % 10 < 2;
    for (int64_t i = 0; i < run; ++i) bits[b + i] = solid ? uint8_t(random() | random()) : uint8_t(0);
    b += run;
  }
}

// Places an object in empty air, as in a trained grid: in every cascade a hollow ball some three cells thick.
void place_balls(const RayMarch::Args<float>& x, Generator& random) {
  const RayMarch::Shape& s = x.shape;
  auto* bits = const_cast<uint8_t*>(x.occupancy);
  std::fill_n(bits, s.cascades * s.grid * s.grid * s.grid / 8, uint8_t(0));
  std::uniform_real_distribution<double> radius(0.2, 0.4);
  const double middle = 0.5 * double(s.grid - 1);
  for (int64_t k = 0; k < s.cascades; ++k) {
    const double outer = radius(random) * double(s.grid), inner = outer - 3;
    const auto first = uint64_t(k * s.grid * s.grid * s.grid);
    for (int64_t z = 0; z < s.grid; ++z)
      for (int64_t y = 0; y < s.grid; ++y) {
        const double away = (z - middle) * (z - middle) + (y - middle) * (y - middle);
        if (away >= outer * outer) continue;
        const double to = std::sqrt(outer * outer - away);
        const double from = away < inner * inner ? std::sqrt(inner * inner - away) : 0;
        for (auto i = int64_t(std::ceil(from)); double(i) <= to; ++i)
          for (const double side : {middle - double(i), middle + double(i)}) {
            const auto column = std::clamp<int64_t>(std::lround(side), 0, s.grid - 1);
            const uint64_t bit = first + RayMarch::morton(uint32_t(column), uint32_t(y), uint32_t(z));
            bits[bit / 8] = uint8_t(bits[bit / 8] | 1U << (bit % 8));
          }
      }
  }
}

// Fills cells in runs of any length, from none to all.
void strew_bits(const RayMarch::Args<float>& x, Generator& random) {
  const RayMarch::Shape& s = x.shape;
  auto* bits = const_cast<uint8_t*>(x.occupancy);
  const int64_t bytes = s.cascades * s.grid * s.grid * s.grid / 8;
  const uint64_t solid = random() % 11;  // tenths
  for (int64_t b = 0; b < bytes; ++b)
    bits[b] = random() % 10 < solid ? uint8_t(random() | random()) : uint8_t(0);
}

// Draws steps of any length, few or many in a diagonal, fixed or growing, from far in front of the box to far
// inside; rays that begin on borders of cells, along axes in either direction, with zeros of either sign or
// next to them; any grid.
void draw_widely(const RayMarch::Args<float>& x, Generator& random) {
  const RayMarch::Shape& s = x.shape;
  std::uniform_real_distribution<float> unit(0, 1);
  const float side = float(1 << (s.cascades - 1));
  auto *origins = const_cast<float*>(x.origins), *directions = const_cast<float*>(x.directions);
  for (int64_t r = 0; r < s.rays; ++r) {
    const bool axis_only = random() % 4 == 0;
    const uint64_t along = random() % 3;
    float norm = 0;
    for (int64_t axis = 0; axis < 3; ++axis) {
      float& o = origins[axis * s.rays + r];
      float& d = directions[axis * s.rays + r];
      o = 0.5F + side * 1.5F * (unit(random) - 0.5F);
      if (random() % 4 == 0) o = std::floor(o * float(s.grid)) / float(s.grid);
      if (random() % 8 == 0)  // next to a wall of the box, inside or outside
        o = 0.5F + (random() % 2 ? 0.5F : -0.5F) * side +
            (unit(random) - 0.5F) * std::exp2(-10 - 20 * unit(random));
      d = axis_only ? float(uint64_t(axis) == along) : unit(random) - 0.5F;
      if (random() % 8 == 0) d = std::exp2(-17 - 23 * unit(random));  // 1e-5 to 1e-12
      if (random() % 2) d = -d;
      norm += d * d;
    }
    for (int64_t axis = 0; axis < 3; ++axis) directions[axis * s.rays + r] /= std::sqrt(norm);
    if (random() % 8 == 0) const_cast<float*>(x.jitter)[r] = 0;
  }
  auto* steps = const_cast<float*>(x.steps);
  constexpr float cones[] = {0, 0, 1.0F / 256, 1.0F / 64, 1.0F / 16, 0.3F};
  steps[0] = random() % 4 == 0 ? 0.0F : unit(random) * (random() % 2 ? 0.1F : side);
  steps[1] = side * 1.7320508F / (16 + unit(random) * 1000);
  steps[2] = steps[1] * (random() % 4 == 0 ? 1.0F : 1 + 30 * unit(random));
  steps[3] = cones[random() % 6];
  steps[4] = random() % 2 ? kNoFar : steps[0] + 1.5F * side * unit(random);
  strew_bits(x, random);
}

}  // namespace

void RayMarch::reference(const Args<double>& x, const Args<double>&) {
  const Shape& s = x.shape;
  // The values are floats held in doubles; converting back is exact, and all arithmetic below is float's.
  const float steps[5] = {float(x.steps[0]), float(x.steps[1]), float(x.steps[2]), float(x.steps[3]),
                          float(x.steps[4])};
  const float side = float(1 << (s.cascades - 1));
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < s.rays; ++r) {
    x.ray_begin[r] = int32_t(total);
    if (full) continue;
    float o[3], d[3];
    for (int axis = 0; axis < 3; ++axis) {
      o[axis] = float(x.origins[axis * s.rays + r]);
      d[axis] = float(x.directions[axis * s.rays + r]);
    }
    const Span span = box_span(o, d, steps[0], steps[4], side);
    if (!(span.enter < span.leave)) continue;
    const float first = span.enter + float(x.jitter[r]) * step_at(span.enter, steps);
    std::vector<float> kept;
    float t = first;
    for (int64_t k = 0; t < span.leave && int64_t(kept.size()) < s.max_samples;) {
      const float p[3] = {o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2]};
      if (occupied(x, p)) kept.push_back(t);
      ++k;
      t = steps[3] == 0 ? first + float(k) * steps[1] : t + step_at(t, steps);
    }
    if (total + int64_t(kept.size()) > s.capacity) {
      full = true;
      continue;
    }
    for (const float kept_t : kept) {
      x.t[total] = double(kept_t);
      x.delta[total] = double(step_at(kept_t, steps));
      ++total;
    }
  }
  x.ray_begin[s.rays] = int32_t(total);
}

void RayMarch::arrange(const Args<float>& x, Generator& random) {
  if (random.widely) return draw_widely(x, random);
  const Shape& s = x.shape;
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> unit(0, 1);
  const float side = float(1 << (s.cascades - 1));
  for (int64_t r = 0; r < s.rays; ++r) {
    // Rays from inside and outside the box, most of them towards it, every eighth along an axis.
    float o[3], d[3], norm = 0;
    for (int axis = 0; axis < 3; ++axis) {
      o[axis] = 0.5F + side * 1.5F * (unit(random) - 0.5F);
      d[axis] = r % 8 == 7 ? float(axis == int(r / 8 % 3)) : 0.5F + 0.3F * normal(random) - o[axis];
      norm += d[axis] * d[axis];
    }
    for (int axis = 0; axis < 3; ++axis) {
      const_cast<float*>(x.origins)[axis * s.rays + r] = o[axis];
      const_cast<float*>(x.directions)[axis * s.rays + r] = d[axis] / std::sqrt(norm);
    }
  }
  // As in training, a cone if there are several cascades; the other way round for every third number of rays,
  // so that all pairs are tested. At least 64 and at most 1024 steps of the shortest length in the diagonal.
  const bool cone = (s.cascades > 1) != (s.rays % 3 == 1);
  const float dt = side * 1.7320508F / float(std::clamp<int64_t>(s.max_samples, 64, 1024));
  const float steps[5] = {0.05F, dt, cone ? 8 * dt : dt, cone ? 1.0F / 64.0F : 0.0F, kNoFar};
  std::copy(steps, steps + 5, const_cast<float*>(x.steps));
  s.grid < 128 ? strew_blobs(x, random) : place_balls(x, random);
}

}  // namespace klab
