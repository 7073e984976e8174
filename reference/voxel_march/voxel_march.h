// Contract of voxel_march: the cells of a grid that each ray crosses, with the length of the ray in each.
//
// The grid has grid³ cells over the cube of side `side` around (.5,.5,.5), one bit each, in Morton order (x
// lowest), like a cascade of ray_march. Cells have one size, or grow with their distance from the middle
// (graded_grid.h). A ray is cut where it crosses planes between cells. A piece in an occupied cell becomes a
// sample: t is its middle, delta its length. (J. Amanatides and A. Woo, "A fast voxel traversal algorithm for
// ray tracing", Eurographics 1987.) Nothing is skipped and nothing is counted twice: the lengths of a ray's
// pieces, empty cells included, add up to its way through the box.
//
// A ray is u + t·v, in cell units, or if cells grow in units of space from the middle. Plane k of an axis, at
// k or at the place that graded_grid.h gives it, is crossed at (plane - u)/v. The next plane of each axis is
// known, and the nearest of the three is crossed next; of equal ones, that of the lowest axis. The next cell
// is a discrete question, so the float arithmetic in `walk` is part of the contract, and variants agree bit
// for bit. A plane's distance depends only on the plane, so a variant may jump over planes.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/contract.h"
#include "reference/graded_grid.h"
#include "reference/no_far.h"

namespace klab {

struct VoxelMarch {
  static constexpr std::string_view name = "voxel_march";
  static constexpr std::array dims = {"rays", "grid", "capacity"};

  struct Shape {
    int64_t rays;
    int64_t grid;      // cells along an edge; a power of two
    int64_t capacity;  // samples in all; a ray that would not fit whole, and all after it, get none
    /// Returns the most cells that a ray can cross.
    int64_t most() const { return 3 * grid; }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* origins;     // [3,rays] f32, grid space
    const T* directions;  // [3,rays] f32, unit length
    const T*
        box;  // [4] f32: near, where rays begin; side, a power of two; 1: cells grow, or 0; far, where they end
    const uint8_t* occupancy;  // [grid³/8] bits in Morton order, bit i of byte b is cell 8b+i
    int32_t* ray_begin;        // [rays+1], written (=): samples of ray r are ray_begin[r] .. ray_begin[r+1]-1
    T* t;      // [capacity] f32, middle of the piece; entries past the last sample keep their value
    T* delta;  // [capacity] f32, length of the piece; likewise
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("origins", args.origins, Role::input, Draw::arranged, {3, s.rays});
    visit("directions", args.directions, Role::input, Draw::arranged, {3, s.rays});
    visit("box", args.box, Role::input, Draw::arranged, {4});
    visit("occupancy", args.occupancy, Role::input, Draw::arranged, {s.grid * s.grid * s.grid / 8});
    visit("ray_begin", args.ray_begin, Role::output, Draw::arranged, {s.rays + 1});
    visit("t", args.t, Role::accumulate, Draw::unit, {s.capacity});
    visit("delta", args.delta, Role::accumulate, Draw::unit, {s.capacity});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.grid >= 2 && s.grid <= 512 && (s.grid & (s.grid - 1)) == 0 && s.capacity >= 0;
  }

  /// Rays in, samples out; the grid is assumed to stay in the cache. A ray is clipped at the box with one
  /// reciprocal an axis; the variants differ in how many planes and bits they need.
  static Cost cost(const Shape& s) {
    return {.bytes = 4.0 * 7 * double(s.rays) + 8.0 * double(s.capacity), .divisions = 3.0 * double(s.rays)};
  }

  /// Bit-exact: see the head of this file.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);

  /// Index of cell (x,y,z) on the Morton curve: bits interleaved, x lowest.
  static uint32_t morton(uint32_t x, uint32_t y, uint32_t z) {
    return spread(x) | spread(y) << 1 | spread(z) << 2;
  }

  /// A ray, and its part inside the box: from enter to leave, empty if enter >= leave.
  struct Line {
    float u[3], v[3], inverse[3];
    float enter, leave;
    int32_t cell[3];  // at enter
    int32_t step[3];  // 1 or -1
    GradedGrid graded;
    int32_t grid;  // cells along an edge

    /// Returns the distance at which plane k of an axis is crossed.
    float plane(int axis, int32_t k) const {
      return ((graded.even() ? float(k) : graded.plane<float>(k, grid)) - u[axis]) * inverse[axis];
    }
    /// Returns the ray's position at t along an axis, in cells, as accurate as rounding allows.
    float place(int axis, float at) const {
      const float there = u[axis] + at * v[axis];
      return graded.even() ? there : graded.place(there) * float(grid);
    }
    /// Returns the distance at which cell c of an axis is left.
    float exit(int axis, int32_t c) const { return plane(axis, c + (step[axis] > 0)); }
  };
  /// Returns the line of a ray; `box` as in the contract.
  static Line line(const float origin[3], const float direction[3], const float box[4], int64_t grid) {
    Line l{};
    l.enter = box[0];
    l.leave = box[3];
    l.graded = GradedGrid::of(double(box[1]), box[2] != 0);
    l.grid = int32_t(grid);
    // A power of two: products with it are exact.
    const float scale = l.graded.even() ? float(grid) / box[1] : 1.0F;
    const float begin = l.graded.even() ? 0.5F - 0.5F * box[1] : 0.5F;
    for (int axis = 0; axis < 3; ++axis) {
      const float d =
          std::abs(direction[axis]) < 1e-9F ? std::copysign(1e-9F, direction[axis]) : direction[axis];
      l.u[axis] = (origin[axis] - begin) * scale;
      l.v[axis] = d * scale;
      l.inverse[axis] = 1.0F / l.v[axis];
      l.step[axis] = d > 0 ? 1 : -1;
      const float a = l.plane(axis, 0), b = l.plane(axis, int32_t(grid));
      l.enter = std::max(l.enter, std::min(a, b));
      l.leave = std::min(l.leave, std::max(a, b));
    }
    if (!(l.enter < l.leave)) return l;
    for (int axis = 0; axis < 3; ++axis) {
      const float at = std::floor(l.place(axis, l.enter));
      l.cell[axis] = int32_t(std::clamp(at, 0.0F, float(grid - 1)));
    }
    return l;
  }

  /// Calls visit(cell, from, to) for each piece of a ray that has a length, from the front.
  template <class Visit>
  static void walk(Line l, int64_t grid, Visit&& visit) {
    for (float from = l.enter; from < l.leave;) {
      int axis = 0;
      float next = l.exit(0, l.cell[0]);
      for (int other = 1; other < 3; ++other)
        if (const float there = l.exit(other, l.cell[other]); there < next) next = there, axis = other;
      const float to = std::min(next, l.leave);
      if (to > from) {
        visit(l.cell, from, to);
        from = to;
      }
      l.cell[axis] += l.step[axis];
      if (l.cell[axis] < 0 || l.cell[axis] >= grid) return;
    }
  }

 private:
  static uint32_t spread(uint32_t v) {
    v = (v | v << 16) & 0x030000FFU;
    v = (v | v << 8) & 0x0300F00FU;
    v = (v | v << 4) & 0x030C30C3U;
    return (v | v << 2) & 0x09249249U;
  }
};

}  // namespace klab
