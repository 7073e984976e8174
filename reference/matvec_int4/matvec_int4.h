// Contract of matvec_int4: y = W·x for weights of four bits in blocks of 32 with a scale each; a layer's work
// to generate one token of a language model, or one pixel at a time.
//
//   y[i] = Σ_g scale[i,g] · Σ_{p in block g} (q[i,p] - 8)·x[p]        q in 0 ... 15
//
// A block is 16 bytes: byte b holds q of element b in its low half and of element b + 16 in its high half, so
// that one mask and one shift of a vector give 32 neighbors. Scales are halves: a weight costs 4.5 bits.
#pragma once

#include "reference/contract.h"

namespace klab {

struct MatvecInt4 {
  static constexpr std::string_view name = "matvec_int4";
  static constexpr std::array dims = {"n", "blocks"};
  static constexpr int64_t kBlock = 32;  // weights that share a scale

  struct Shape {
    int64_t n;       // rows: outputs
    int64_t blocks;  // of 32 inputs
    int64_t k() const { return kBlock * blocks; }
  };

  template <class T>
  struct Args {
    Shape shape;
    const uint8_t* q;       // [n, 16·blocks] two weights a byte
    const uint16_t* scale;  // [n, blocks] f16
    const T* x;             // [32·blocks] f32
    T* y;                   // [n] f32, written (=); zeros without blocks
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("q", args.q, Role::input, Draw::real, {s.n, s.k() / 2});
    visit("scale", args.scale, Role::input, Draw::real, {s.n, s.blocks});
    visit("x", args.x, Role::input, Draw::real, {s.k()});
    visit("y", args.y, Role::output, Draw::real, {s.n});
  }

  /// Weights, scales and x in, y out. A product and an addition for each weight, the same for each block's scale.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), blocks = double(s.blocks);
    return {18 * n * blocks + 4 * double(s.k()) + 4 * n, 66 * n * blocks};
  }

  /// A product, 31 sums in a block, the scale, and the sums over blocks; or all in another order.
  static double terms(const Shape& s) { return double(s.k()) + 4; }

  /// magnitude.y[i] = Σ |scale·(q - 8)·x|, plus the scaled rounding of products below 2^-126.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
