// Contract of variation_points: points at which the total variation is evaluated, each with its three
// neighbors.
//
//   point p: (1 - h)·word·2^-24 along axes 0 to 2, upper 24 bits of words 0 to 2 of Philox 4x32-10 at counter
//   {p, 2, step[0], step[1]};  row m > 0 of its four is the point moved by h along axis m - 1
#pragma once

#include "reference/contract.h"

namespace klab {

struct VariationPoints {
  static constexpr std::string_view name = "variation_points";
  static constexpr std::array dims = {"points"};

  struct Shape {
    int64_t points;
  };

  template <class T>
  struct Args {
    Shape shape;
    const uint32_t* seed;  // [2] u32
    const uint32_t* step;  // [2] u32
    const T* h;            // [1] f32 in (0,1): the edge of a cell
    T* positions;          // [3,4,points] f32 in [0,1], written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("seed", args.seed, Role::input, Draw::arranged, {2});
    visit("step", args.step, Role::input, Draw::arranged, {2});
    visit("h", args.h, Role::input, Draw::arranged, {1});
    visit("positions", args.positions, Role::output, Draw::real, {3, 4, s.points});
  }

  /// Twelve coordinates out; ten rounds of the generator.
  static Cost cost(const Shape& s) {
    return {.bytes = 48 * double(s.points), .flops = 90 * double(s.points)};
  }

  /// A difference, a product, a sum.
  static double terms(const Shape&) { return 4; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
