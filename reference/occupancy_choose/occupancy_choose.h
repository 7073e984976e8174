// Contract of occupancy_choose: chooses the cells of a stretch of the occupancy grid that an update
// evaluates.
//
//   never a cell with a negative value (no camera sees it); with all = 1 all others; else cell c of the stretch if
//     high half of w < share·2^16, or it is occupied and low half of w < min(1, share·grid_cells/occupied)·2^16
//
// with w word c mod 4 of Philox 4x32-10 at counter {block mod 2^32, 3·2^16 + block/2^32, step[0], step[1]},
// block = (first + c)/4. So after the first updates a share of all cells is evaluated, and about as many of
// the occupied ones (Müller et al. 2022, appendix E).
#pragma once

#include "reference/contract.h"

namespace klab {

struct OccupancyChoose {
  static constexpr std::string_view name = "occupancy_choose";
  static constexpr std::array dims = {"cells", "first", "grid_cells", "all"};

  struct Shape {
    int64_t cells;  // of the stretch, a multiple of 8
    int64_t first;
    int64_t grid_cells;  // of all cascades
    int64_t all;         // 0 or 1
  };

  /// Limits for the halves of a random word.
  struct Thresholds {
    uint32_t any, occupied;
  };
  static Thresholds thresholds(float share, int64_t grid_cells, int32_t occupied) {
    const double want = double(share) * double(grid_cells) / double(occupied > 0 ? occupied : 1);
    return {uint32_t(double(share) * 65536), uint32_t((want < 1 ? want : 1) * 65536)};
  }

  template <class T>
  struct Args {
    Shape shape;
    const uint32_t* seed;     // [2] u32
    const uint32_t* step;     // [2] u32
    const T* values;          // [cells] f32
    const uint8_t* bits;      // [cells/8] u8, cell c is bit c mod 8 of byte c/8
    const int32_t* occupied;  // [1] i32: occupied cells of the whole grid
    const T* share;           // [1] f32 in [0,1]
    int32_t* chosen;          // [cells] i32: chosen cells of the stretch, ascending, then -1; written (=)
    int32_t* count;           // [1] i32: how many, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("seed", args.seed, Role::input, Draw::arranged, {2});
    visit("step", args.step, Role::input, Draw::arranged, {2});
    visit("values", args.values, Role::input, Draw::arranged, {s.cells});
    visit("bits", args.bits, Role::input, Draw::arranged, {s.cells / 8});
    visit("occupied", args.occupied, Role::input, Draw::arranged, {1});
    visit("share", args.share, Role::input, Draw::arranged, {1});
    visit("chosen", args.chosen, Role::output, Draw::arranged, {s.cells});
    visit("count", args.count, Role::output, Draw::arranged, {1});
  }

  static bool valid(const Shape& s) {
    return s.cells >= 0 && s.cells % 8 == 0 && s.first >= 0 && s.first % 8 == 0 && s.grid_cells >= 1 &&
           s.grid_cells < (int64_t{1} << 31) && (s.all == 0 || s.all == 1);
  }

  /// A value and a bit in, a cell out; a quarter of ten rounds of the generator a cell.
  static Cost cost(const Shape& s) {
    return {.bytes = 8.125 * double(s.cells), .flops = 30 * double(s.cells)};
  }

  /// Whole numbers.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
