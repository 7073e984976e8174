// Contract of ray_march: places samples along each ray, skipping the empty cells of the occupancy grid.
//
// Positions are in grid space: the scene's box is the cube of side 2^(cascades-1) around (.5,.5,.5). Cascade
// k of the grid covers the cube of side 2^k around the same center with grid³ cells, one bit each, in Morton
// order (x lowest).
//
// A ray's candidates are   t_0 = enter + jitter·dt(enter),
//   cone = 0:  t_k = t_0 + k·dt_min         (one multiplication and one addition: a lattice that can be
//   jumped on) cone > 0:  t_{k+1} = t_k + dt(t_k)      with dt(t) = min(max(t·cone, dt_min), dt_max)
// as long as t_k < leave, where the ray leaves the box or reaches far. A candidate becomes a sample (t_k, dt(t_k)) when the cell of origin + t_k·direction
// in the smallest cascade that contains it is occupied; a ray takes at most max_samples. (Steps and cascades
// after Müller et al., "Instant Neural Graphics Primitives", 2022, appendix E.)
//
// Which cell a position falls into is a discrete question, so the float arithmetic is part of the contract:
// every operation rounds to float in the order written in `candidate` and `cell_of`, and variants agree bit
// for bit.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/contract.h"
#include "reference/no_far.h"

namespace klab {

struct RayMarch {
  static constexpr std::string_view name = "ray_march";
  static constexpr std::array dims = {"rays", "grid", "cascades", "max_samples", "capacity"};

  struct Shape {
    int64_t rays;
    int64_t grid;         // cells along an edge of one cascade; a power of two
    int64_t cascades;     // >= 1
    int64_t max_samples;  // a ray
    int64_t capacity;     // samples in all; a ray that would not fit whole, and all after it, get none
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* origins;          // [3,rays] f32, grid space
    const T* directions;       // [3,rays] f32, unit length
    const T* jitter;           // [rays] f32 in [0,1): where in its first step a ray begins
    const T* steps;            // [5] f32: near, dt_min, dt_max, cone, far
    const uint8_t* occupancy;  // [cascades, grid³/8] bits in Morton order, bit i of byte b is cell 8b+i
    int32_t* ray_begin;        // [rays+1], written (=): samples of ray r are ray_begin[r] .. ray_begin[r+1]-1
    T* t;      // [capacity] f32, distance along the ray; entries past the last sample keep their value
    T* delta;  // [capacity] f32, length of the step; likewise
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("origins", args.origins, Role::input, Draw::unit, {3, s.rays});
    visit("directions", args.directions, Role::input, Draw::arranged, {3, s.rays});
    visit("jitter", args.jitter, Role::input, Draw::unit, {s.rays});
    visit("steps", args.steps, Role::input, Draw::arranged, {5});
    visit("occupancy", args.occupancy, Role::input, Draw::arranged,
          {s.cascades, s.grid * s.grid * s.grid / 8});
    visit("ray_begin", args.ray_begin, Role::output, Draw::arranged, {s.rays + 1});
    visit("t", args.t, Role::accumulate, Draw::unit, {s.capacity});
    visit("delta", args.delta, Role::accumulate, Draw::unit, {s.capacity});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.grid >= 2 && s.grid <= 512 && (s.grid & (s.grid - 1)) == 0 && s.cascades >= 1 &&
           s.cascades <= 8 && s.max_samples >= 1 && s.max_samples <= 4096 && s.capacity >= 0;
  }

  /// Rays in, samples out; the grid is assumed to stay in the cache. A ray is clipped at the box with one
  /// reciprocal an axis. Beyond that no floating-point operation and no lookup is compulsory: the variants
  /// differ in how many they need.
  static Cost cost(const Shape& s) {
    return {.bytes = 4.0 * 8 * double(s.rays) + 8.0 * double(s.capacity), .divisions = 3.0 * double(s.rays)};
  }

  /// Bit-exact: see the head of this file.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);

  /// Index of cell (x,y,z) on the Morton curve: bits interleaved, x lowest.
  static uint32_t morton(uint32_t x, uint32_t y, uint32_t z) {
    return spread(x) | spread(y) << 1 | spread(z) << 2;
  }

  /// Part of a ray inside the box: {enter, leave}, enter >= near and leave <= far; empty if enter >= leave.
  struct Span {
    float enter, leave;
  };
  static Span box_span(const float origin[3], const float direction[3], float near, float far, float side) {
    float enter = near, leave = far;
    for (int axis = 0; axis < 3; ++axis) {
      const float inverse = 1.0F / direction_or_tiny(direction[axis]);
      const float a = (0.5F - 0.5F * side - origin[axis]) * inverse;
      const float b = (0.5F + 0.5F * side - origin[axis]) * inverse;
      enter = std::max(enter, std::min(a, b));
      leave = std::min(leave, std::max(a, b));
    }
    return {enter, leave};
  }

  /// Replaces a component of a direction that is too small to divide by.
  static float direction_or_tiny(float d) { return std::abs(d) < 1e-9F ? std::copysign(1e-9F, d) : d; }

  static float step_at(float t, const float steps[4]) {
    return std::min(std::max(t * steps[3], steps[1]), steps[2]);
  }

  /// Returns the smallest cascade that contains a position whose largest distance from the center along an
  /// axis is `away`.
  static int cascade_of(float away, int64_t cascades) {
    int k = 0;
    for (float half = 0.5F; k + 1 < cascades && !(away < half); half *= 2) ++k;
    return k;
  }

  /// Returns the cell coordinate along one axis: position relative to the center, in cascade k.
  static int32_t cell_of(float from_center, int cascade, int64_t grid) {
    const float in_cube = from_center / float(1 << cascade) + 0.5F;  // a division by a power of two: exact
    const auto cell = int32_t(std::floor(in_cube * float(grid)));
    return std::clamp(cell, 0, int32_t(grid) - 1);
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
