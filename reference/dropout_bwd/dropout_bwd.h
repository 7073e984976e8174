// Contract of dropout_bwd: the gradient passes through the kept elements, scaled as in the forward.
//
//   d_x_i = d_y_i/(1 - p) where kept, 0 where dropped
//
// The mask is made again from the forward's p, seed and offset: 8 bytes an element move, and none is kept in
// between.
#pragma once

#include "reference/dropout_fwd/dropout_fwd.h"

namespace klab {

struct DropoutBwd {
  static constexpr std::string_view name = "dropout_bwd";
  static constexpr std::array dims = {"n"};
  using Forward = DropoutFwd;
  using Shape = DropoutFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* d_y;            // [n] f32
    const T* p;              // [1] f32, of the forward
    const uint32_t* seed;    // [2] u32, of the forward
    const uint32_t* offset;  // [2] u32, of the forward
    T* d_x;                  // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("d_y", args.d_y, Role::input, Draw::real, {n});
    visit("p", args.p, Role::input, Draw::arranged, {1});
    visit("seed", args.seed, Role::input, Draw::arranged, {2});
    visit("offset", args.offset, Role::input, Draw::arranged, {2});
    visit("d_x", args.d_x, Role::output, Draw::real, {n});
  }

  static Cost cost(const Shape& s) { return DropoutFwd::cost(s); }
  static double terms(const Shape& s) { return DropoutFwd::terms(s); }
  static void arrange(const Args<float>& x, Generator& random) {
    DropoutFwd::arrange({x.shape, nullptr, x.p, x.seed, x.offset, nullptr}, random);
  }
  static void reference(const Args<double>& x, const Args<double>& magnitude) {
    DropoutFwd::reference({x.shape, x.d_y, x.p, x.seed, x.offset, x.d_x},
                          {x.shape, nullptr, nullptr, nullptr, nullptr, magnitude.d_x});
  }
};

}  // namespace klab
