// Contract of allreduce_gradients: the gradient exchange of ranks that train together, in one address space.
//
//   param[r] -= rate · 1/ranks · sum over q of gradient[q]          for every rank r
//
// A rank has a replica of the parameters and the gradient of its own part of the batch; after the step all
// replicas are the same again. Rungs differ in how they make the sum: every rank gets the whole sum and moves
// everything (all-reduce), or each moves a part of the parameters and the others get the result
// (reduce-scatter, all-gather: Rajbhandari et al., "ZeRO", 2020, stage 1), or only blocks travel that some
// rank has touched. The optimizer is plain descent: it has no state that could differ.
//
// Ranks are rows of one array here, so that a check and a benchmark need one process. Reading or writing
// another rank's row costs a message between processes, and a rung counts those bytes in `sent`.
#pragma once

#include "reference/contract.h"

namespace klab {

struct AllreduceGradients {
  static constexpr std::string_view name = "allreduce_gradients";
  static constexpr std::array dims = {"ranks", "n", "block", "touched_percent"};

  struct Shape {
    int64_t ranks, n;
    int64_t block;  // neighbors that share a bit, where only touched blocks are sent; the last may be short
    int64_t
        touched_percent;  // of a rank's blocks have a gradient; for the drawing of inputs and the cost only
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* rate;      // [1] f32
    const T* gradient;  // [ranks, n] f32
    T* param;           // [ranks, n] f32, every row the same, read and written
    /// [ranks], or null if not wanted: the bytes that a rank sends to others are added to it. Not a result,
    /// since rungs differ in it.
    int64_t* sent = nullptr;
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("rate", args.rate, Role::input, Draw::arranged, {1});
    visit("gradient", args.gradient, Role::input, Draw::real, {s.ranks, s.n});
    visit("param", args.param, Role::accumulate, Draw::real, {s.ranks, s.n});
  }

  static bool valid(const Shape& s) {
    return s.ranks >= 1 && s.ranks <= 64 && s.n >= 0 && s.block >= 1 && s.touched_percent >= 0 &&
           s.touched_percent <= 100;
  }

  static int64_t blocks(const Shape& s) { return (s.n + s.block - 1) / s.block; }
  /// First block of the part of the parameters that belongs to a rank; that of rank `ranks` is the end.
  static int64_t first_block(const Shape& s, int64_t rank) { return blocks(s) * rank / s.ranks; }
  /// Its first entry.
  static int64_t first(const Shape& s, int64_t rank) {
    const int64_t at = first_block(s, rank) * s.block;
    return at < s.n ? at : s.n;
  }

  /// Every gradient in; of blocks with a gradient the parameters in, once, as replicas are alike, and out on every rank.
  static Cost cost(const Shape& s) {
    double untouched = 1;
    for (int64_t r = 0; r < s.ranks; ++r) untouched *= 1 - double(s.touched_percent) / 100;
    const double moved = double(s.n) * (1 - untouched), all = double(s.ranks) * double(s.n);
    return {.bytes = 4 + 4 * all + 4 * double(s.ranks + 1) * moved,
            .flops = all * double(s.touched_percent) / 100 + 2 * moved};
  }

  /// A sum over ranks, the factor and its product, the difference.
  static double terms(const Shape& s) { return double(s.ranks) + 4; }

  /// Replicas alike; a share of each rank's blocks without a gradient, zeros of either sign.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
