// Contract of weighted_sum: sum += sum over i of weight_i·value_i: the loss of a batch from the losses of its
// rays.
#pragma once

#include "reference/contract.h"

namespace klab {

struct WeightedSum {
  static constexpr std::string_view name = "weighted_sum";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* weight;  // [n] f32
    const T* value;   // [n] f32
    T* sum;           // [1] f32, added to (+=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("weight", args.weight, Role::input, Draw::real, {s.n});
    visit("value", args.value, Role::input, Draw::real, {s.n});
    visit("sum", args.sum, Role::accumulate, Draw::real, {1});
  }

  /// Two numbers in an entry.
  static Cost cost(const Shape& s) { return {.bytes = 8 * double(s.n), .flops = 2 * double(s.n)}; }

  /// Sums are taken in double; the result is rounded once, like its value before.
  static double terms(const Shape&) { return 5; }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
