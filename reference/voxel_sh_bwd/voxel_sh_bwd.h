// Contract of voxel_sh_bwd: gradients of a grid of voxels, scattered to the rows of its tables.
//
//   d_density[link_c]            += w_c·d_raw
//   d_coefficients[link_c, k, b] += w_c·Y_b(direction)·g_k,    g_k = d_rgb_k·rgb_k·(1 - rgb_k)
//
// for the eight corners c of each point's cell that have a row. Both sums are linear in the tables, so the
// tables are not needed, but the forward's colors are. Points get no gradient: the march sets them.
#pragma once

#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

namespace klab {

struct VoxelShBwd {
  static constexpr std::string_view name = "voxel_sh_bwd";
  static constexpr std::array dims = VoxelShFwd::dims;
  using Shape = VoxelShFwd::Shape;
  using Forward = VoxelShFwd;

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;     // [3,n] f32 in [0,1]
    const T* directions;    // [3,n] f32, unit length; not read where basis is 0
    const int32_t* links;   // [grid+1,grid+1,grid+1] i32, z slowest
    const T* empty;         // [1], [rows], [rows,3,basis] f32: the forward's, not needed
    const T* density;       //
    const T* coefficients;  //
    const T* rgb;           // [3,n] f32: the forward's colors; [0,n] where basis is 0
    const T* d_raw;         // [n] f32
    const T* d_rgb;         // [3,n] f32; [0,n] where basis is 0
    T* d_density;           // [rows] f32, accumulated (+=)
    T* d_coefficients;      // [rows,3,basis] f32, accumulated (+=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("positions", args.positions, Role::input, Draw::arranged, {3, s.n});
    visit("directions", args.directions, Role::input, Draw::arranged, {3, s.n});
    visit("links", args.links, Role::input, Draw::arranged, {s.grid + 1, s.grid + 1, s.grid + 1});
    visit("empty", args.empty, Role::input, Draw::arranged, {1});
    visit("density", args.density, Role::input, Draw::real, {s.rows});
    visit("coefficients", args.coefficients, Role::input, Draw::real, {s.rows, 3, s.basis});
    visit("rgb", args.rgb, Role::input, Draw::arranged, {s.colors(), s.n});
    visit("d_raw", args.d_raw, Role::input, Draw::real, {s.n});
    visit("d_rgb", args.d_rgb, Role::input, Draw::real, {s.colors(), s.n});
    visit("d_density", args.d_density, Role::accumulate, Draw::real, {s.rows});
    visit("d_coefficients", args.d_coefficients, Role::accumulate, Draw::real, {s.rows, 3, s.basis});
  }

  static bool valid(const Shape& s) { return VoxelShFwd::valid(s); }

  /// Point, color and gradients in; for eight corners the link, and density and coefficients read and
  /// written.
  static Cost cost(const Shape& s) {
    const auto n = double(s.n), row = 1 + 3 * double(s.basis), colors = s.basis > 0 ? 1.0 : 0.0;
    const double touched = std::min(8 * n, double(s.rows)), seen = std::min(8 * n, double(s.vertices()));
    return {.bytes = (16 + 36 * colors) * n + 4 * seen + 8 * row * touched,
            .flops = (18 + 16 * row + colors * (20 + 9)) * n + 3 * double(s.basis) * n};
  }

  /// The magnitude holds the bound in units of u, to first order, because it depends on how many points share
  /// a row. A factor of two leaves room for other orders of the factors.
  static double terms(const Shape&) { return 2; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
