// Contract of baked_rays: what rays see of a scene that was baked into a grid of voxels with numbers of eight bits.
//
// The grid has grid³ cells over the cube of side `side` around (.5,.5,.5), and (grid+1)³ vertices, x fastest. A vertex of a
// filled cell has a row of 4·basis bytes, found by `links`: number [0,0] is the logarithm of the density, [1+k,b] the
// coefficient of harmonic b of color k; the rest of row 0 is not read. Number [g,b] is table[row,g,b]·factors[g,b].
//
// A ray's candidates are t_k = (enter + step/2) + k·step, k = 0, 1, ..., below leave, the two ends of its way through the box.
// A candidate whose cell is filled (distance 0) is a sample. With trilinear weights w_c of the cell's corners, and from the
// front to the back, T = 1 at first:
//
//   raw[g,b] = sum_c w_c·table[links_c,g,b]·factors[g,b]      tau = exp(raw[0,0])·step      weight = T·(1 - exp(-tau))
//   color_k += weight·logistic(sum_b Y_b(direction)·raw[1+k,b])      depth += weight·t_k      T = T·exp(-tau)
//
// The ray ends after the sample with which T falls below `stop`. What is left of it shows the background: color_k +=
// T·background_k; opacity = 1 - T. Y_b are the harmonics of voxel_sh_fwd.
//
// `distance` tells how far a ray may jump: cells that differ from a cell by less than its distance along every axis are empty
// (cell_distance has the largest such numbers; smaller ones above 0 are allowed, too). Which cell a candidate falls into is a
// discrete question, so the float arithmetic of `path` and `place` is part of the contract, and a jump may leave out empty
// candidates only.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/contract.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {

struct BakedRays {
  static constexpr std::string_view name = "baked_rays";
  static constexpr std::array dims = {"rays", "grid", "rows", "basis"};

  struct Shape {
    int64_t rays;
    int64_t grid;   // cells along an edge; a power of two
    int64_t rows;   // of the table
    int64_t basis;  // harmonics of a color: 1 or 4
    int64_t cells() const { return grid * grid * grid; }
    int64_t vertices() const { return (grid + 1) * (grid + 1) * (grid + 1); }
    int64_t numbers() const { return 4 * basis; }  // of a row
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* origins;         // [3,rays] f32, grid space
    const T* directions;      // [3,rays] f32, unit length
    const T* settings;        // [4] f32: near; side, a power of two; step > 0; stop, a transmittance
    const uint8_t* distance;  // [grid,grid,grid] u8, z slowest; 0: filled, and all corners have rows
    const int32_t* links;     // [grid+1,grid+1,grid+1] i32, z slowest: row of each vertex, or -1
    const int8_t* table;      // [rows,4,basis]
    const T* factors;         // [4,basis] f32
    const T* background;      // [3] f32
    T* color;                 // [3,rays] f32, written (=)
    T* opacity;               // [rays] f32, written (=)
    T* depth;                 // [rays] f32, written (=): expected distance, in grid units
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("origins", args.origins, Role::input, Draw::arranged, {3, s.rays});
    visit("directions", args.directions, Role::input, Draw::arranged, {3, s.rays});
    visit("settings", args.settings, Role::input, Draw::arranged, {4});
    visit("distance", args.distance, Role::input, Draw::arranged, {s.grid, s.grid, s.grid});
    visit("links", args.links, Role::input, Draw::arranged, {s.grid + 1, s.grid + 1, s.grid + 1});
    visit("table", args.table, Role::input, Draw::arranged, {s.rows, 4, s.basis});
    visit("factors", args.factors, Role::input, Draw::arranged, {4, s.basis});
    visit("background", args.background, Role::input, Draw::unit, {3});
    visit("color", args.color, Role::output, Draw::real, {3, s.rays});
    visit("opacity", args.opacity, Role::output, Draw::real, {s.rays});
    visit("depth", args.depth, Role::output, Draw::real, {s.rays});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.grid >= 2 && s.grid <= 512 && (s.grid & (s.grid - 1)) == 0 && s.rows >= 0 &&
           s.rows < (int64_t{1} << 31) / 16 && (s.basis == 1 || s.basis == 4);
  }

  /// Rays in, colors out; the grid is assumed to stay in the cache. A ray is clipped at the box with one reciprocal an axis.
  /// How many samples it has is not known from the shape.
  static Cost cost(const Shape& s) {
    return {.bytes = 4.0 * 11 * double(s.rays), .divisions = 3.0 * double(s.rays)};
  }

  /// Factor on the running error, for other orders of summation.
  static double terms(const Shape&) { return 4; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);

  /// A ray in units of cells, and its candidates.
  struct Path {
    VoxelMarch::Line line;
    float first, step;
    float t(int64_t k) const { return first + float(k) * step; }
  };
  static Path path(const float origin[3], const float direction[3], const float settings[4], int64_t grid) {
    const float box[4] = {settings[0], settings[1], 0, kNoFar};
    const VoxelMarch::Line line = VoxelMarch::line(origin, direction, box, grid);
    return {line, line.enter + 0.5F * settings[2], settings[2]};
  }

  /// The cell of a candidate, and the weight of its upper vertices on each axis.
  struct Place {
    int32_t cell[3];
    float upper[3];
    int64_t index(int64_t grid) const { return (cell[2] * grid + cell[1]) * grid + cell[0]; }
  };
  static Place place(const Path& p, float t) {
    Place out;
    for (int axis = 0; axis < 3; ++axis) {
      const float at = p.line.u[axis] + t * p.line.v[axis];
      out.cell[axis] = std::clamp(int32_t(at), 0, p.line.grid - 1);
      out.upper[axis] = std::clamp(at - float(out.cell[axis]), 0.0F, 1.0F);
    }
    return out;
  }
};

}  // namespace klab
