// Contract of occupancy_place: a random point in each chosen cell.
//
//   cell of the grid first + chosen[i]: cascade k = cell / grid³, coordinates from its Morton index (x lowest)
//   position = 0.5 + 2^k·((coordinate + word·2^-24)/grid - 0.5)/side,   side = 2^(cascades-1)
//
// with the upper 24 bits of words 0 to 2 of Philox 4x32-10 at counter {cell, 4, step[0], step[1]}. Where
// chosen is negative there is no cell, and the point is 0.5.
#pragma once

#include "reference/contract.h"

namespace klab {

struct OccupancyPlace {
  static constexpr std::string_view name = "occupancy_place";
  static constexpr std::array dims = {"samples", "grid", "cascades", "first"};

  struct Shape {
    int64_t samples;
    int64_t grid;  // a power of two
    int64_t cascades;
    int64_t first;
  };

  /// Returns every third bit of a Morton index, counted from `axis`: the inverse of interleaving.
  static uint32_t coordinate(uint32_t morton, int axis) {
    uint32_t v = morton >> axis & 0x09249249U;
    v = (v | v >> 2) & 0x030C30C3U;
    v = (v | v >> 4) & 0x0300F00FU;
    v = (v | v >> 8) & 0x030000FFU;
    return (v | v >> 16) & 0x3FFU;
  }

  template <class T>
  struct Args {
    Shape shape;
    const uint32_t* seed;   // [2] u32
    const uint32_t* step;   // [2] u32
    const int32_t* chosen;  // [samples] i32
    T* positions;           // [3,samples] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("seed", args.seed, Role::input, Draw::arranged, {2});
    visit("step", args.step, Role::input, Draw::arranged, {2});
    visit("chosen", args.chosen, Role::input, Draw::arranged, {s.samples});
    visit("positions", args.positions, Role::output, Draw::real, {3, s.samples});
  }

  static bool valid(const Shape& s) {
    return s.samples >= 0 && s.grid >= 2 && s.grid <= 512 && (s.grid & (s.grid - 1)) == 0 &&
           s.cascades >= 1 && s.cascades <= 8 && s.first >= 0 &&
           s.first < s.cascades * s.grid * s.grid * s.grid;
  }

  /// A cell in, a point out; ten rounds of the generator.
  static Cost cost(const Shape& s) {
    return {.bytes = 16 * double(s.samples), .flops = 100 * double(s.samples)};
  }

  /// Two sums and a quotient inside, a product, a sum; quotients by powers of two are exact.
  static double terms(const Shape&) { return 6; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
