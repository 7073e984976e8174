// Contract of adamw_master: a step of AdamW on float masters of bfloat16 weights, from a scaled gradient.
//
//   first = 2^31 - 1:  g = gradient/scale; the step of adamw on master, m and v; steps + 1
//   otherwise:         none of these changes: the step is skipped
//   weight = bfloat16(master), to nearest even, either way
//
// (Micikevicius et al., "Mixed precision training", 2018.) A weight of 8 bits' precision does not move by
// less than 1/512 of itself; steps are smaller than that, and add up in the master. `first` is the result of
// all_finite for the gradient.
#pragma once

#include "reference/float16.h"
#include "reference/sgd/optimizer_step.h"

namespace klab {

struct AdamwMaster {
  static constexpr std::string_view name = "adamw_master";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* hyper;        // [5] f32: rate, beta1, beta2, epsilon, decay
    const T* scale;        // [1] f32, a power of two
    const int32_t* first;  // [1] i32
    const T* gradient;     // [n] f32, scaled
    T* master;             // [n] f32, read and written
    T* m;                  // [n] f32, read and written
    T* v;                  // [n] f32, >= 0, read and written
    int32_t* steps;        // [1] i32, >= 0, read and written
    Bfloat16* weight;      // [n] bf16, written (=)
  };

  static constexpr int32_t kAllFinite = 0x7FFFFFFF;

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("hyper", args.hyper, Role::input, Draw::arranged, {optimizer::kHypers});
    visit("scale", args.scale, Role::input, Draw::arranged, {1});
    visit("first", args.first, Role::input, Draw::arranged, {1});
    visit("gradient", args.gradient, Role::input, Draw::real, {n});
    visit("master", args.master, Role::accumulate, Draw::real, {n});
    visit("m", args.m, Role::accumulate, Draw::real, {n});
    visit("v", args.v, Role::accumulate, Draw::unit, {n});
    visit("steps", args.steps, Role::accumulate, Draw::arranged, {1});
    visit("weight", args.weight, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.n < int64_t{1} << 40; }

  /// Gradients read; masters and moments read and written; weights written: 30 bytes an entry, 2 more than in float alone.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 30 * n + 36, .flops = 16 * n, .divisions = n, .roots = n};
  }

  /// Coefficient of u in the bound of reference/sgd/optimizer_step.cpp; the quotient by a power of two is exact.
  static double terms(const Shape&) { return optimizer::kTerms; }

  /// scale from 1 to 65536, multiplied into the gradients; where drawn widely, one time in three a step to skip.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
