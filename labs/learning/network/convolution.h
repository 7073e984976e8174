// Convolution with bias, pooling, and borders around pictures: layers of images [channels,rows,columns].
#pragma once

#include <fmt/format.h>

#include "labs/learning/network/initialize.h"
#include "labs/learning/network/module.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"
#include "reference/pad2d_bwd/pad2d_bwd.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"
#include "reference/pool_bwd/pool_bwd.h"
#include "reference/pool_fwd/pool_fwd.h"

namespace klab::learning {

/// Returns how many rows and columns a picture needs for windows of `side` pixels with `pad` pixels of a border in front.
inline int64_t fewest_pixels(int64_t side, int64_t pad, int64_t border) {
  const int64_t of_border = border == PadShape::reflect ? pad + 1 : border == PadShape::circular ? pad : 1;
  return std::max(side - 2 * pad, of_border);
}

class Convolution : public Module {
 public:
  /// Creates a layer with `to` output channels and kernels of taps², padded by `pad` pixels on each side, zeros or another `border`
  /// (PadShape::reflect), whose windows are `stride` pixels apart.
  Convolution(Parameters& p, const std::string& name, const Dims& in, int64_t to, int64_t taps, int64_t pad,
              int64_t stride = 1, int64_t border = PadShape::zeros)
      : Module(name, in),
        to_(to),
        taps_(taps),
        pad_(pad),
        stride_(stride),
        border_(border),
        weight_(p.add(name + ".weight", {}, true)),
        bias_(p.add(name + ".bias", {to}, false)) {
    if (in.size() != 3 || !shape(1).valid())
      does_not_fit(fmt::format("images [channels,rows,columns] of at least {} rows and columns",
                               fewest_pixels(taps, pad, border)));
    weight_.dims = shape(1).w_dims();
    out_ = {to, shape(1).oh(), shape(1).ow()};
  }
  void initialize(Memory&, uint64_t seed) override {
    draw_normal(weight_, kaiming(in_[0] * taps_ * taps_), seed);
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) const override {
    pass.ops.call<Conv2dFwd>(shape(n), {.x = x, .w = weight_.w, .b = bias_.w, .y = y});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float* d_y, float* d_x) const override {
    pass.ops.call<Conv2dBwd>(
        shape(n), {.x = x, .w = weight_.w, .d_y = d_y, .d_x = d_x, .d_w = weight_.d_w, .d_b = bias_.d_w});
  }

 private:
  Conv2dShape shape(int64_t n) const {
    return {.n = n,
            .groups = 1,
            .c = in_[0],
            .k = to_,
            .h = in_[1],
            .w = in_[2],
            .r = taps_,
            .s = taps_,
            .stride_y = stride_,
            .stride_x = stride_,
            .pad_y = pad_,
            .pad_x = pad_,
            .dilation_y = 1,
            .dilation_x = 1,
            .nhwc = 0,
            .border = border_};
  }
  int64_t to_, taps_, pad_, stride_, border_;
  Tensor &weight_, &bias_;
};

/// Puts a border of `pad` pixels around each picture, of a kind of pad2d_fwd (PadShape::zeros), for a layer that has none itself: a
/// pool in which zeros count.
class Padding : public Module {
 public:
  Padding(Parameters&, const std::string& name, const Dims& in, int64_t pad, int64_t kind)
      : Module(name, in), pad_(pad), kind_(kind) {
    if (in.size() != 3 || !shape(1).valid())
      does_not_fit(fmt::format("images [channels,rows,columns] of at least {} rows and columns",
                               kind == PadShape::reflect ? pad + 1 : std::max<int64_t>(pad, 1)));
    out_ = {in[0], shape(1).oh(), shape(1).ow()};
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) const override {
    pass.ops.call<Pad2dFwd>(shape(n), {.x = x, .y = y});
  }
  void backward(const Pass& pass, int64_t n, const float*, const float* d_y, float* d_x) const override {
    pass.ops.call<Pad2dBwd>(shape(n), {.d_y = d_y, .d_x = d_x});
  }

 private:
  PadShape shape(int64_t n) const {
    return {.planes = n * in_[0], .h = in_[1], .w = in_[2], .pad_y = pad_, .pad_x = pad_, .kind = kind_};
  }
  int64_t pad_, kind_;
};

/// Takes the maximum or the average of squares of side² that are `stride` pixels apart, the first `pad` in front of the edge. What
/// lies beyond the edge is left out, or counts where it is a `border` (PadShape::reflect).
class Pool : public Module {
 public:
  enum class Kind : uint8_t { maximum, average };  // as in pool_fwd
  Pool(Parameters&, const std::string& name, const Dims& in, int64_t side, int64_t stride, Kind kind,
       int64_t pad = 0, int64_t border = 0)
      : Module(name, in), side_(side), stride_(stride), pad_(pad), border_(border), kind_(kind) {
    if (in.size() != 3 || !shape(1).valid())
      does_not_fit(fmt::format("images [channels,rows,columns] of at least {} rows and columns",
                               fewest_pixels(side, pad, border)));
    out_ = {in[0], shape(1).oh(), shape(1).ow()};
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) const override {
    pass.ops.call<PoolFwd>(shape(n), {.x = x, .y = y});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float* d_y, float* d_x) const override {
    pass.ops.call<PoolBwd>(shape(n), {.x = x, .d_y = d_y, .d_x = d_x});
  }

 private:
  PoolShape shape(int64_t n) const {
    return {.n = n,
            .c = in_[0],
            .h = in_[1],
            .w = in_[2],
            .r = side_,
            .s = side_,
            .stride_y = stride_,
            .stride_x = stride_,
            .pad_y = pad_,
            .pad_x = pad_,
            .kind = int64_t(kind_),
            .nhwc = 0,
            .border = border_};
  }
  int64_t side_, stride_, pad_, border_;
  Kind kind_;
};

/// Takes the maximum of each square of side², without overlap.
class MaxPool : public Pool {
 public:
  MaxPool(Parameters& p, const std::string& name, const Dims& in, int64_t side)
      : Pool(p, name, in, side, side, Kind::maximum) {}
};

}  // namespace klab::learning
