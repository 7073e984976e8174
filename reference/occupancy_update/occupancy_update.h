// Contract of occupancy_update: values of a stretch of the occupancy grid after a look at some of its cells.
//
//   v = v·decay where v > 0;  then for every cell that was looked at  v = max(v, exp(raw)·step_size)
//
// (Müller et al. 2022, appendix E.) `chosen` ascends, so no cell comes twice; where it is negative there is no cell.
#pragma once

#include "reference/contract.h"

namespace klab {

struct OccupancyUpdate {
  static constexpr std::string_view name = "occupancy_update";
  static constexpr std::array dims = {"cells", "samples"};

  struct Shape {
    int64_t cells;    // of the stretch
    int64_t samples;  // that were looked at
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* chosen;  // [samples] i32, cells of the stretch
    const T* raw;           // [samples] f32, logarithms of densities
    const T* decay;         // [1] f32 in [0,1]
    const T* step_size;     // [1] f32: the smallest step of a ray
    T* values;              // [cells] f32, read and written; negative: never looked at
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
    return s.cells >= 0 && s.samples >= 0 && s.samples <= s.cells && s.cells < (int64_t{1} << 31);
  }

  /// Every value in and out, a cell and a logarithm in for each sample.
  static Cost cost(const Shape& s) {
    return {.bytes = 8 * double(s.cells) + 8 * double(s.samples),
            .flops = double(s.cells) + 18 * double(s.samples),
            .transcendentals = double(s.samples)};
  }

  /// Two roundings of the product, four of the exponential; a maximum passes on what it takes.
  static double terms(const Shape&) { return 6; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
