// Contract of softmax_xent_fwd: how wrong a classification is, the cross-entropy of a softmax.
//
//   p_j  = exp(x_j) / sum_k exp(x_k)                 probability of class j, from the row's logits x
//   loss = -log p_label = log sum_k exp(x_k) - x_label
//
// exp(x) leaves the range of float at 88. With m = max x taken out first, nothing does:
//
//   loss = log sum_k exp(x_k - m)  +  (m - x_label)          (log-sum-exp; the sum is between 1 and c)
//
// Softmax regression is this loss on logits W·h + b; the product is the matrix product's lab.
#pragma once

#include "reference/contract.h"

namespace klab {

struct SoftmaxXentFwd {
  static constexpr std::string_view name = "softmax_xent_fwd";
  static constexpr std::array dims = {"n", "c"};

  struct Shape {
    int64_t n;  // rows: examples
    int64_t c;  // classes, at least one
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* logits;        // [n,c] f32 row-major, finite; differences of two must not overflow
    const int32_t* labels;  // [n] i32, in 0 .. c-1
    T* loss;                // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c] = args.shape;
    visit("logits", args.logits, Role::input, Draw::real, {n, c});
    visit("labels", args.labels, Role::input, Draw::arranged, {n});
    visit("loss", args.loss, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.c >= 1 && s.c < (int64_t{1} << 31); }

  /// Logits and labels read, losses written. A logit is compared, subtracted, raised (8 operations: the
  /// argument's reduction and a polynomial) and added; a row adds a logarithm and two sums. Transcendental are an
  /// exponential a logit and a logarithm a row.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), c = double(s.c);
    return {.bytes = 4 * n * c + 8 * n, .flops = 11 * n * c + 12 * n, .transcendentals = n * c + n};
  }

  /// Roundings of a sum of c exponentials, each with up to 8 behind it, in a few partial sums that are scaled
  /// to each other; never below 16. The bound itself is derived next to the code.
  static double terms(const Shape& s) { return double(s.c) + 24; }

  /// Draws the labels, and makes one row in four a single logit above many nearly equal ones.
  static void arrange(const Args<float>& x, Generator& random);

  /// Values and error bound; derivation next to the code.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
