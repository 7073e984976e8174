#include "reference/voxel_march/voxel_march.h"

#include "reference/generator.h"

namespace klab {
namespace {

using Unit = std::uniform_real_distribution<float>;

// Places blobs of occupied cells: whole bytes are neighbors on the Morton curve, and so are runs of bytes.
void strew(const VoxelMarch::Args<float>& x, Generator& random) {
  const int64_t bytes = x.shape.grid * x.shape.grid * x.shape.grid / 8;
  auto* bits = const_cast<uint8_t*>(x.occupancy);
  const uint64_t solid = random.widely ? random() % 11 : 2;  // tenths
  for (int64_t b = 0; b < bytes;) {
    const int64_t run = std::min<int64_t>(bytes - b, 1 + int64_t(random() % 64));
    const bool full = random() % 10 < solid;
    for (int64_t i = 0; i < run; ++i) bits[b + i] = full ? uint8_t(random() | random()) : uint8_t(0);
    b += run;
  }
}

// Places a surface in empty air, as after pruning: a hollow ball some three cells thick.
void place_ball(const VoxelMarch::Args<float>& x, Generator& random) {
  const int64_t grid = x.shape.grid;
  auto* bits = const_cast<uint8_t*>(x.occupancy);
  std::fill_n(bits, grid * grid * grid / 8, uint8_t(0));
  const double middle = 0.5 * double(grid - 1), outer = double(Unit(0.2F, 0.4F)(random)) * double(grid);
  for (int64_t z = 0; z < grid; ++z)
    for (int64_t y = 0; y < grid; ++y)
      for (int64_t column = 0; column < grid; ++column) {
        const double away = std::hypot(double(column) - middle, double(y) - middle, double(z) - middle);
        if (away >= outer || away < outer - 3) continue;
        const uint32_t bit = VoxelMarch::morton(uint32_t(column), uint32_t(y), uint32_t(z));
        bits[bit / 8] = uint8_t(bits[bit / 8] | 1U << (bit % 8));
      }
}

}  // namespace

// Rays from inside and outside the box, most of them towards it, every eighth along an axis; drawn widely, from planes
// between cells too, and with zeros of either sign.
void VoxelMarch::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  std::normal_distribution<float> normal;
  auto *origins = const_cast<float*>(x.origins), *directions = const_cast<float*>(x.directions),
       *box = const_cast<float*>(x.box);
  const float side = random.widely ? float(1 << random() % 4) : 1.0F;
  box[0] = random.widely && random() % 2 ? Unit(0, side)(random) : 0.05F;
  box[1] = side;
  box[2] = random.widely && random() % 2 ? 1.0F : 0.0F;
  box[3] = random.widely && random() % 2 ? box[0] + Unit(0, 1.5F * side)(random) : kNoFar;
  for (int64_t r = 0; r < s.rays; ++r) {
    float norm = 0;
    for (int axis = 0; axis < 3; ++axis) {
      float& o = origins[axis * s.rays + r];
      float& d = directions[axis * s.rays + r];
      o = 0.5F + side * 1.5F * (Unit(0, 1)(random) - 0.5F);
      if (random.widely && random() % 4 == 0) o = std::floor(o * float(s.grid)) / float(s.grid);
      if (random.widely && random() % 8 == 0)  // next to a wall of the box, inside or outside
        o = 0.5F + (random() % 2 ? 0.5F : -0.5F) * side +
            Unit(-1, 1)(random) * std::exp2(-Unit(10, 30)(random));
      d = r % 8 == 7 ? float(axis == int(r / 8 % 3)) : 0.5F + 0.3F * side * normal(random) - o;
      if (random.widely && random() % 8 == 0) d = std::exp2(-Unit(17, 40)(random));  // 1e-5 to 1e-12
      if (random.widely && random() % 2) d = -d;
      norm += d * d;
    }
    for (int axis = 0; axis < 3; ++axis) directions[axis * s.rays + r] /= std::sqrt(norm);
  }
  random.widely || s.grid < 128 ? strew(x, random) : place_ball(x, random);
}

void VoxelMarch::reference(const Args<double>& x, const Args<double>&) {
  const Shape& s = x.shape;
  // The values are floats held in doubles; converting back is exact, and all arithmetic is float's.
  const float box[4] = {float(x.box[0]), float(x.box[1]), float(x.box[2]), float(x.box[3])};
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
    struct Piece {
      float from, to;
    };
    std::vector<Piece> pieces;
    walk(line(o, d, box, s.grid), s.grid, [&](const int32_t* cell, float from, float to) {
      const uint32_t bit = morton(uint32_t(cell[0]), uint32_t(cell[1]), uint32_t(cell[2]));
      if (x.occupancy[bit / 8] >> (bit % 8) & 1) pieces.push_back({from, to});
    });
    if (total + int64_t(pieces.size()) > s.capacity) {
      full = true;
      continue;
    }
    for (const Piece& p : pieces) {
      const float length = p.to - p.from;
      x.t[total] = double(p.from + 0.5F * length);
      x.delta[total] = double(length);
      ++total;
    }
  }
  x.ray_begin[s.rays] = int32_t(total);
}

}  // namespace klab
