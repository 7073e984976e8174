// Contract of cell_distance: how far each cell of an occupancy grid is from the nearest occupied one.
//
//   distance(c) = min( 255, min over occupied cells o of max(|x_c - x_o|, |y_c - y_o|, |z_c - z_o|) )
//
// This is the chessboard distance: 0 in an occupied cell, 1 in the 26 cells around one. All cells that differ from c by less
// than its distance along every axis are empty, so a ray in c may jump until it has passed as many cells less one along some
// axis. Without an occupied cell every distance is 255. (A. Rosenfeld and J. L. Pfaltz, "Sequential operations in digital
// picture processing", Journal of the ACM 13(4), 1966.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct CellDistance {
  static constexpr std::string_view name = "cell_distance";
  static constexpr std::array dims = {"grid"};
  static constexpr int most = 255;  // of a byte

  struct Shape {
    int64_t grid;  // cells along an edge; a power of two
    int64_t cells() const { return grid * grid * grid; }
  };

  template <class T>
  struct Args {
    Shape shape;
    const uint8_t* occupancy;  // [grid³/8] bits in Morton order (x lowest), bit i of byte b is cell 8b+i
    uint8_t* distance;         // [grid,grid,grid] u8, z slowest, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("occupancy", args.occupancy, Role::input, Draw::arranged, {s.cells() / 8});
    visit("distance", args.distance, Role::output, Draw::arranged, {s.grid, s.grid, s.grid});
  }

  static bool valid(const Shape& s) { return s.grid >= 2 && s.grid <= 512 && (s.grid & (s.grid - 1)) == 0; }

  /// A bit of each cell in, a byte out.
  static Cost cost(const Shape& s) { return {.bytes = 1.125 * double(s.cells())}; }

  /// Whole numbers.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);

  /// Index of cell (x,y,z) on the Morton curve: bits interleaved, x lowest.
  static uint32_t morton(uint32_t x, uint32_t y, uint32_t z) {
    return spread(x) | spread(y) << 1 | spread(z) << 2;
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
