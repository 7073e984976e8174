// Contract of ema: exponential moving average of the weights: average = keep·average + (1 - keep)·now.
//
// (Polyak and Juditsky, 1992, average the iterates of a stochastic search; the exponential form forgets its beginning.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct Ema {
  static constexpr std::string_view name = "ema";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* keep;  // [1] f32 in [0,1)
    const T* now;   // [n] f32
    T* average;     // [n] f32, read and written
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("keep", args.keep, Role::input, Draw::arranged, {1});
    visit("now", args.now, Role::input, Draw::real, {s.n});
    visit("average", args.average, Role::accumulate, Draw::real, {s.n});
  }

  /// Two numbers in and one out an entry.
  static Cost cost(const Shape& s) { return {.bytes = 12 * double(s.n), .flops = 3 * double(s.n)}; }

  /// 1 - keep, two products, a sum.
  static double terms(const Shape&) { return 4; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
