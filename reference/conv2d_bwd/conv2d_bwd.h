// Contract of conv2d_bwd: the gradients of a convolution with respect to its input, its weights and its bias.
//
// From y[o] = b + Σ_taps w[tap]·x[o·stride + tap·dilation − pad] and the loss L(y), with d_y = ∂L/∂y:
//
//   d_x[p]   = Σ over pairs (output o, tap) with o·stride + tap·dilation − pad = p, and output channels, of w[tap]·d_y[o]
//   d_w[tap] = Σ over images and outputs o of x[o·stride + tap·dilation − pad]·d_y[o]
//   d_b      = Σ over images and outputs of d_y
//
// With another border than zeros x is the picture with that border, and d_x is collected as pad2d_bwd does: a pixel gets what its
// copies get, and what the places of a mean get is shared out to all pixels of the channel.
//
// d_x is the adjoint of the forward: ⟨conv(x), d_y⟩ = ⟨x, d_x⟩ for b = 0. With stride 1 it is a convolution of d_y with the
// kernel flipped in both axes and with input and output channels exchanged.
#pragma once

#include "reference/conv2d_fwd/conv2d_fwd.h"
#include "reference/pad2d_bwd/pad2d_bwd.h"

namespace klab {

struct Conv2dBwd {
  using Forward = Conv2dFwd;
  static constexpr std::string_view name = "conv2d_bwd";
  static constexpr std::array dims = Conv2dFwd::dims;
  static constexpr std::array optional = Conv2dFwd::optional;
  using Shape = Conv2dShape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;    // [n,groups·c,h,w], or [n,h,w,groups·c] where nhwc = 1; f32, input
    const T* w;    // [groups·k,c,r,s] f32, input
    const T* d_y;  // layout of y, f32, input: gradient of the loss with respect to y
    T* d_x;        // layout of x, f32, written (=); zero where no window reaches
    T* d_w;        // [groups·k,c,r,s] f32, written (=)
    T* d_b;        // [groups·k] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("x", args.x, Role::input, Draw::real, s.x_dims());
    visit("w", args.w, Role::input, Draw::real, s.w_dims());
    visit("d_y", args.d_y, Role::input, Draw::real, s.y_dims());
    visit("d_x", args.d_x, Role::output, Draw::real, s.x_dims());
    visit("d_w", args.d_w, Role::output, Draw::real, s.w_dims());
    visit("d_b", args.d_b, Role::output, Draw::real, {s.out_channels()});
  }

  static bool valid(const Shape& s) { return s.valid(); }

  /// Three tensors read and three written once; two sums of the forward's products, and d_y added up; a mean and its
  /// gradient take two additions a pixel.
  static Cost cost(const Shape& s) {
    const double x = double(volume(s.x_dims())), y = double(volume(s.y_dims())),
                 w = double(volume(s.w_dims()));
    const double mean = s.border == PadShape::mean ? 2 * x : 0;
    return {.bytes = 4 * (2 * x + 2 * w + y + double(s.out_channels())),
            .flops = 4 * s.products() + y + mean};
  }

  /// d_x sums at most k·r·s products, d_w and d_b one for each image and output; the longer sum bounds all.
  /// A border adds the places that show a pixel to the one, the roundings of a mean to the other.
  static double terms(const Shape& s) {
    const auto longest = double(std::max({int64_t(2), s.k * s.taps(), s.n * s.oh() * s.ow()}));
    return longest + (s.border != 0 ? Pad2dBwd::terms(s.pad()) + Pad2dFwd::terms(s.pad()) : 0);
  }

  /// The sums above; magnitudes are the same sums of absolute values. Uses all processors for large shapes.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
