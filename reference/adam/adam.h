// Contract of adam: one step of the Adam optimizer with sparse gradients.
//
//   g = gradient + l2·param        m = beta1·m + (1-beta1)·g        v = beta2·v + (1-beta2)·g^2
//   param -= rate · (m/(1-beta1^step)) / (sqrt(v/(1-beta2^step)) + epsilon)
//
// (Kingma and Ba, "Adam", 2015, algorithm 1.) Entries form groups of `group` neighbors, the last one may be
// short. A group has one step count, which its step raises first. A group whose gradients are all zero is
// skipped whole: nothing of it changes, not even by decay or l2. For a hash table the group is one entry's
// features: an entry that no sample touched keeps its momentum, and its bias correction counts its own steps
// (as in instant-ngp). For a matrix the group is all of it.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Adam {
  static constexpr std::string_view name = "adam";
  static constexpr std::array dims = {"n", "group", "zero_percent"};

  struct Shape {
    int64_t n, group;
    int64_t zero_percent;  // of the groups have a zero gradient; for the drawing of inputs and the cost only
  };

  /// Order of the hyperparameters.
  enum Hyper : int { rate, beta1, beta2, epsilon, l2, kHypers };

  template <class T>
  struct Args {
    Shape shape;
    const T* hyper;     // [5] f32: rate, beta1, beta2 (both in [0.5,1)), epsilon > 0, l2
    const T* gradient;  // [n] f32
    T* param;           // [n] f32, read and written
    T* m;               // [n] f32, read and written
    T* v;               // [n] f32, >= 0, read and written
    int32_t* steps;     // [ceil(n/group)] i32, >= 0, read and written
  };

  static int64_t groups(const Shape& s) { return (s.n + s.group - 1) / s.group; }

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("hyper", args.hyper, Role::input, Draw::arranged, {kHypers});
    visit("gradient", args.gradient, Role::input, Draw::real, {n});
    visit("param", args.param, Role::accumulate, Draw::real, {n});
    visit("m", args.m, Role::accumulate, Draw::real, {n});
    visit("v", args.v, Role::accumulate, Draw::unit, {n});
    visit("steps", args.steps, Role::accumulate, Draw::arranged, {groups(args.shape)});
  }

  static bool valid(const Shape& s) {
    return s.n >= 0 && s.group >= 1 && s.zero_percent >= 0 && s.zero_percent <= 100;
  }

  /// Every gradient is read; for groups that are not skipped, param, m, v and the count are read and written.
  /// A square root and a division count as one operation each: an entry needs one of both. The bias
  /// corrections are a group's, not an entry's, and may come from a table of steps, so that neither their
  /// exponentials nor their reciprocals are compulsory.
  static Cost cost(const Shape& s) {
    const double live = double(s.n) * (1 - double(s.zero_percent) / 100);
    return {.bytes = 20 + 4 * double(s.n) + 24 * live + 8 * live / double(s.group),
            .flops = 17 * live,
            .divisions = live,
            .roots = live};
  }

  /// Coefficient of u in the bound of adam.cpp.
  static double terms(const Shape&) { return 16; }

  /// rate 1e-2, beta1 0.9, beta2 0.99, epsilon 1e-15, l2 1e-6; step counts from 0 to 2000, small ones more
  /// often.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
