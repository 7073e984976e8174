// Contract of clip_norm: a gradient no longer than a limit: gradient *= min(1, limit/|gradient|), its length taken over all entries.
//
// (Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", 2013, algorithm 1.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct ClipNorm {
  static constexpr std::string_view name = "clip_norm";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* limit;  // [1] f32, positive
    T* gradient;     // [n] f32, read and written
    T* norm;         // [1] f32, its length before, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("limit", args.limit, Role::input, Draw::arranged, {1});
    visit("gradient", args.gradient, Role::accumulate, Draw::real, {s.n});
    visit("norm", args.norm, Role::output, Draw::real, {1});
  }

  /// Every entry in. A gradient that is too long goes in and out once more, which only the first of many timed calls meets: after it
  /// the gradient has the length of the limit.
  static Cost cost(const Shape& s) { return {.bytes = 4 * double(s.n), .flops = 2 * double(s.n)}; }

  /// The square root of a sum in double, a quotient, a product, roundings of both.
  static double terms(const Shape&) { return 5; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
