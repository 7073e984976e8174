// Contract of voxel_sh_narrow_fwd: density and color of points in a grid of voxels whose numbers are stored in few bits.
//
// As voxel_sh_fwd, but the logarithms of densities are halves, and the coefficients stay in 16 or 8 bits (narrow_numbers.h):
//
//   coefficients[r, k, b] = halves[r, k, b]                       formats f16 and bf16
//   coefficients[r, k, b] = bytes[r, k, b] * factors[k, b]        format int8
#pragma once

#include "reference/contract.h"
#include "reference/narrow_numbers.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

namespace klab {

struct VoxelShNarrowFwd {
  static constexpr std::string_view name = "voxel_sh_narrow_fwd";
  static constexpr std::array dims = {"n", "grid", "rows", "basis", "format"};

  struct Shape {
    int64_t n;
    int64_t grid;    // cells along an edge; a power of two
    int64_t rows;    // of the tables
    int64_t basis;   // harmonics of a color: 1, 4 or 9; 0: densities only
    int64_t format;  // narrow_format, of the coefficients
    VoxelShFwd::Shape voxels() const { return {n, grid, rows, basis}; }
    int64_t numbers() const { return rows * 3 * basis; }
    int64_t factors() const { return in_bytes(format, 3 * basis); }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;       // [3,n] f32 in [0,1]
    const T* directions;      // [3,n] f32, unit length; not read where basis is 0
    const int32_t* links;     // [grid+1,grid+1,grid+1] i32, z slowest: row of each vertex, or -1
    const T* empty;           // [1] f32: logarithm of the density of a vertex without a row
    const uint16_t* density;  // [rows] f16
    const uint16_t* halves;   // [rows,3,basis] bits; empty in format int8
    const int8_t* bytes;      // [rows,3,basis]; empty in the others
    const T* factors;         // [3,basis] f32, above 0; empty like `bytes`
    T* raw;                   // [n] f32, written (=)
    T* rgb;                   // [3,n] f32, written (=); [0,n] where basis is 0
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("positions", args.positions, Role::input, Draw::arranged, {3, s.n});
    visit("directions", args.directions, Role::input, Draw::arranged, {3, s.n});
    visit("links", args.links, Role::input, Draw::arranged, {s.grid + 1, s.grid + 1, s.grid + 1});
    visit("empty", args.empty, Role::input, Draw::arranged, {1});
    visit("density", args.density, Role::input, Draw::arranged, {s.rows});
    visit("halves", args.halves, Role::input, Draw::arranged, {in_halves(s.format, s.numbers())});
    visit("bytes", args.bytes, Role::input, Draw::arranged, {in_bytes(s.format, s.numbers())});
    visit("factors", args.factors, Role::input, Draw::arranged, {s.factors()});
    visit("raw", args.raw, Role::output, Draw::real, {s.n});
    visit("rgb", args.rgb, Role::output, Draw::real, {s.voxels().colors(), s.n});
  }

  static bool valid(const Shape& s) { return VoxelShFwd::valid(s.voxels()) && is_narrow_format(s.format); }

  /// As of voxel_sh_fwd, with rows of fewer bytes.
  static Cost cost(const Shape& s) {
    Cost cost = VoxelShFwd::cost(s.voxels());
    const double touched = std::min(8 * double(s.n), double(s.rows));
    const double row = 2 + 3 * double(s.basis * narrow_bytes(s.format));
    cost.bytes += (row - 4 * (1 + 3 * double(s.basis))) * touched + 4 * double(s.factors());
    return cost;
  }

  /// As of voxel_sh_fwd, and one rounding of a number times its factor.
  static double terms(const Shape& s) { return VoxelShFwd::terms(s.voxels()) + 1; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
