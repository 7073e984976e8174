// Contract of voxel_sh_fwd: density and color of points in a grid of voxels, interpolated.
//
// The grid has grid³ cells and (grid+1)³ vertices, x fastest. `links` holds the table row of each vertex, -1
// for none: most of space is empty, and only vertices near something take memory. For a point in a cell with
// corners c and trilinear weights w_c:
//
//   raw   = sum_c w_c·(density[link_c], or `empty` without a row)             logarithm of the density
//   rgb_k = logistic( sum_b Y_b(direction)·sum_c w_c·coefficients[link_c, k, b] )   without a row 0
//
// Y_b are the real spherical harmonics below degree 3, in the order and with the signs of splatting files.
// (A. Yu et al., "Plenoxels: radiance fields without neural networks", CVPR 2022, sections 3.1 and 3.2. There
// the interpolated number is the density, cut at 0, and the sum the color, cut at 0; here the numbers go
// through exp, in composite_fwd, and the logistic function, like those of the other fields: both have a
// gradient everywhere.)
//
// A cell contains [k/grid, (k+1)/grid); grid is a power of two, so that cell and weights are exact up to 1 -
// w.
#pragma once

#include <algorithm>

#include "reference/contract.h"

namespace klab {

struct VoxelShFwd {
  static constexpr std::string_view name = "voxel_sh_fwd";
  static constexpr std::array dims = {"n", "grid", "rows", "basis"};

  struct Shape {
    int64_t n;
    int64_t grid;   // cells along an edge; a power of two
    int64_t rows;   // of the tables
    int64_t basis;  // harmonics of a color: 1, 4 or 9; 0: densities only
    int64_t vertices() const { return (grid + 1) * (grid + 1) * (grid + 1); }
    int64_t colors() const { return basis > 0 ? 3 : 0; }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;     // [3,n] f32 in [0,1]
    const T* directions;    // [3,n] f32, unit length; not read where basis is 0
    const int32_t* links;   // [grid+1,grid+1,grid+1] i32, z slowest: row of each vertex, or -1
    const T* empty;         // [1] f32: logarithm of the density of a vertex without a row
    const T* density;       // [rows] f32
    const T* coefficients;  // [rows,3,basis] f32
    T* raw;                 // [n] f32, written (=)
    T* rgb;                 // [3,n] f32, written (=); [0,n] where basis is 0
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("positions", args.positions, Role::input, Draw::arranged, {3, s.n});
    visit("directions", args.directions, Role::input, Draw::arranged, {3, s.n});
    visit("links", args.links, Role::input, Draw::arranged, {s.grid + 1, s.grid + 1, s.grid + 1});
    visit("empty", args.empty, Role::input, Draw::arranged, {1});
    visit("density", args.density, Role::input, Draw::real, {s.rows});
    visit("coefficients", args.coefficients, Role::input, Draw::real, {s.rows, 3, s.basis});
    visit("raw", args.raw, Role::output, Draw::real, {s.n});
    visit("rgb", args.rgb, Role::output, Draw::real, {s.colors(), s.n});
  }

  static bool valid(const Shape& s) {
    return s.n >= 0 && s.grid >= 1 && s.grid <= 512 && (s.grid & (s.grid - 1)) == 0 && s.rows >= 0 &&
           s.rows < (int64_t{1} << 31) / 32 && (s.basis == 0 || s.basis == 1 || s.basis == 4 || s.basis == 9);
  }

  /// Point in, density and color out; for eight corners link, density and coefficients. Apart from the
  /// point's own bytes they are random reads, each of the bytes of a row; if there are more points than rows,
  /// a table is read once. Weights 18 operations, interpolation two a number and corner, the harmonics some
  /// 20, three sums, three logistic functions.
  static Cost cost(const Shape& s) {
    const auto n = double(s.n), row = 1 + 3 * double(s.basis);
    const double touched = std::min(8 * n, double(s.rows)), seen = std::min(8 * n, double(s.vertices()));
    const double colors = s.basis > 0 ? 1 : 0;
    return {.bytes = (28 + 12 * colors - 12 * (1 - colors)) * n + 4 * seen + 4 * row * touched,
            .flops = (18 + 16 * row + colors * (20 + 54)) * n + 6 * double(s.basis) * n,
            .transcendentals = 3 * colors * n,
            .divisions = 3 * colors * n};
  }

  /// Factor on the running error, for other orders of summation.
  static double terms(const Shape&) { return 4; }

  /// Draws points that also touch borders, a third of the vertices without a row. `empty` is moderate.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
