// Contract of occupancy_update: updates the occupancy grid after some of its cells were evaluated.
//
//   decays = 1: v = v·decay where v > 0;  then for every chosen cell  v = max(v, exp(raw)·step_size)
//
// (Müller et al. 2022, appendix E.) If there are more cells than room, several calls update them, and the
// first one decays. `chosen` ascends, so no cell occurs twice; a negative value is no cell.
#pragma once

#include "reference/contract.h"

namespace klab {

struct OccupancyUpdate {
  static constexpr std::string_view name = "occupancy_update";
  static constexpr std::array dims = {"cells", "samples", "decays"};

  struct Shape {
    int64_t cells;
    int64_t samples;  // chosen cells
    int64_t decays;   // 0 or 1
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* chosen;  // [samples] i32, cells
    const T* raw;           // [samples] f32, logarithms of densities
    const T* decay;         // [1] f32 in [0,1]
    const T* step_size;     // [1] f32: the smallest step of a ray
    T* values;              // [cells] f32, read and written; negative: never evaluated
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("chosen", args.chosen, Role::input, Draw::arranged, {s.samples});
    visit("raw", args.raw, Role::input, Draw::real, {s.samples});
    visit("decay", args.decay, Role::input, Draw::arranged, {1});
    visit("step_size", args.step_size, Role::input, Draw::arranged, {1});
    visit("values", args.values, Role::accumulate, Draw::arranged, {s.cells});
  }

  static bool valid(const Shape& s) {
    return s.cells >= 0 && s.samples >= 0 && s.samples <= s.cells && s.cells < (int64_t{1} << 31) &&
           (s.decays == 0 || s.decays == 1);
  }

  /// Every value that changes in and out, a cell and a logarithm in for each sample.
  static Cost cost(const Shape& s) {
    const double values = double(s.decays ? s.cells : s.samples);
    return {.bytes = 8 * values + 8 * double(s.samples),
            .flops = double(s.decays ? s.cells : 0) + 18 * double(s.samples),
            .transcendentals = double(s.samples)};
  }

  /// Two roundings of the product, four of the exponential; a maximum returns one of its operands.
  static double terms(const Shape&) { return 6; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
