// Contract of softmax_xent_bwd: gradient of the cross-entropy with respect to the logits, and the loss again.
//
//   d_logits[i,j] = d_loss[i]·(p_j - [j == label_i])
//
// A training step calls this one alone: the loss falls off on the way to the gradient, so it is an output
// here too. d_loss weighs the examples (1/n for a mean, 0 for an example that is masked).
#pragma once

#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {

struct SoftmaxXentBwd {
  static constexpr std::string_view name = "softmax_xent_bwd";
  static constexpr std::array dims = {"n", "c"};
  using Forward = SoftmaxXentFwd;
  using Shape = SoftmaxXentFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* logits;        // [n,c] f32 row-major, as in the forward
    const int32_t* labels;  // [n] i32, in 0 .. c-1
    const T* d_loss;        // [n] f32
    T* loss;                // [n] f32, written (=)
    T* d_logits;            // [n,c] f32 row-major, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c] = args.shape;
    visit("logits", args.logits, Role::input, Draw::real, {n, c});
    visit("labels", args.labels, Role::input, Draw::arranged, {n});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {n});
    visit("loss", args.loss, Role::output, Draw::real, {n});
    visit("d_logits", args.d_logits, Role::output, Draw::real, {n, c});
  }

  static bool valid(const Shape& s) { return SoftmaxXentFwd::valid(s); }

  /// Logits read and gradients written, 12 bytes per row besides. The forward's operations, a product for each
  /// gradient, a division and a subtraction a row.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), c = double(s.c);
    return {.bytes = 8 * n * c + 12 * n,
            .flops = 12 * n * c + 14 * n,
            .transcendentals = n * c + n,
            .divisions = n};
  }

  static double terms(const Shape& s) { return SoftmaxXentFwd::terms(s); }
  static void arrange(const Args<float>& x, Generator& random);

  /// Values and error bound; derivation next to the code. A probability below 2^-126 may as well come out as
  /// 0, or as anything up to that.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
