// Contract of dropout_fwd: each element zero with probability p, the others scaled so that the expectation stays.
//
//   y_i = x_i/(1 - p) where kept, 0 where dropped              element i is dropped when r_i < floor(p·2^32)
//
// (Srivastava et al., "Dropout", 2014; "inverted": training scales, inference does nothing.) r_i comes from a generator
// without state, Philox 4x32-10 (philox.h), so that any thread of any machine knows it, and the backward makes the same
// mask again instead of reading one:
//
//   key      seed[0], seed[1]
//   counter  i/4 (low word), i/4 (high word), offset[0], offset[1]           block of four elements, and the call
//   r_i      word i % 4 of the result
//
// `offset` counts calls (layer and step), so that no two of them share a mask under one seed.
#pragma once

#include "reference/contract.h"

namespace klab {

struct DropoutFwd {
  static constexpr std::string_view name = "dropout_fwd";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;  // elements
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;              // [n] f32
    const T* p;              // [1] f32, in [0,1)
    const uint32_t* seed;    // [2] u32
    const uint32_t* offset;  // [2] u32
    T* y;                    // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("x", args.x, Role::input, Draw::real, {n});
    visit("p", args.p, Role::input, Draw::arranged, {1});
    visit("seed", args.seed, Role::input, Draw::arranged, {2});
    visit("offset", args.offset, Role::input, Draw::arranged, {2});
    visit("y", args.y, Role::output, Draw::real, {n});
  }

  /// x read, y written. Ten rounds of two wide products, four exclusive-ors and two additions for four elements; they are
  /// integers, counted here as operations: 20 an element, with the comparison and the product.
  static Cost cost(const Shape& s) { return {.bytes = 8 * double(s.n) + 20, .flops = 22 * double(s.n)}; }

  /// 1 - p, its reciprocal, the product.
  static double terms(const Shape&) { return 4; }

  /// p from 0 to 0.9, often 0.5; any seed, offset of a few calls.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);

  /// Whether element i stays. `p` as the variants see it.
  static bool keeps(float p, const uint32_t* seed, const uint32_t* offset, int64_t i);
};

}  // namespace klab
