// oneDNN's convolutions, forward and backward, for the variants that compare with them. Include it where
// KLAB_HAVE_ONEDNN is 1.
//
//   onednn::why_not(shape)                                   "" or the reason why not
//   onednn::why_not_backward(shape)                          the same of its backward
//   onednn::Forward kept;  kept.run(shape, formats, {x, w, b, y})
//   onednn::Backward kept; kept.run(shape, formats, {x, w, d_y, d_x, d_w, d_b})
//
// Primitives are kept for the last shape, as a program would that runs a layer again and again; values are
// not.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "dnnl.hpp"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab::onednn {

enum class Formats {
  as_they_lie,  // those of the contract
  any,          // the library chooses, and everything is reordered to and from them
};

inline std::string why_not(const Conv2dShape& s) {
  if (std::min({s.n, s.c, s.k, s.h, s.w}) == 0) return "oneDNN takes no tensors without elements";
  return "";
}

/// The same of its backward. With strides its 1x1 kernels for AVX-512 copy every stride-th pixel of
/// channels-last pictures aside, sixteen channels at a time, and with fewer than sixteen they write past the
/// end of their buffer: glibc finds the heap corrupted (oneDNN 2.6; NOTES.md of conv2d_bwd).
inline std::string why_not_backward(const Conv2dShape& s) {
  if (s.nhwc != 0 && s.r == 1 && s.s == 1 && (s.stride_y > 1 || s.stride_x > 1) && s.c % 16 != 0)
    return "oneDNN writes outside its memory there: a 1x1 kernel with a stride, channels last and not a "
           "multiple of 16";
  return why_not(s);
}

inline dnnl::engine& engine() {
  static dnnl::engine one(dnnl::engine::kind::cpu, 0);
  return one;
}
inline dnnl::stream& stream() {
  static thread_local dnnl::stream one(engine());
  return one;
}

/// Descriptions of one layer's tensors: `plain` as in the contract, `asked` as requested from the library.
struct Layer {
  using Desc = dnnl::memory::desc;
  Desc x, w, b, y;
  Desc asked_x, asked_w, asked_y;
  dnnl::memory::dims strides, dilates, padding;

  Layer(const Conv2dShape& s, Formats formats)
      : strides{s.stride_y, s.stride_x},
        dilates{s.dilation_y - 1, s.dilation_x - 1},
        padding{s.pad_y, s.pad_x} {
    using Tag = dnnl::memory::format_tag;
    const auto f32 = dnnl::memory::data_type::f32;
    const Tag pictures = s.nhwc != 0 ? Tag::nhwc : Tag::nchw;
    const dnnl::memory::dims x_dims{s.n, s.in_channels(), s.h, s.w},
        y_dims{s.n, s.out_channels(), s.oh(), s.ow()};
    const dnnl::memory::dims grouped{s.groups, s.k, s.c, s.r, s.s}, together{s.k, s.c, s.r, s.s};
    const dnnl::memory::dims& w_dims = s.groups > 1 ? grouped : together;
    x = Desc(x_dims, f32, pictures);
    y = Desc(y_dims, f32, pictures);
    w = Desc(w_dims, f32, s.groups > 1 ? Tag::goihw : Tag::oihw);
    b = Desc({s.out_channels()}, f32, Tag::a);
    const bool lies = formats == Formats::as_they_lie;
    asked_x = lies ? x : Desc(x_dims, f32, Tag::any);
    asked_y = lies ? y : Desc(y_dims, f32, Tag::any);
    asked_w = Desc(w_dims, f32, Tag::any);  // small, and every kernel wants its own
  }
};

/// A tensor of the contract, and the same in the format that a primitive uses.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const dnnl::memory::desc& plain, const dnnl::memory::desc& used) : same_(plain == used) {
    plain_ = dnnl::memory(plain, engine(), nullptr);
    used_ = same_ ? plain_ : dnnl::memory(used, engine());
    if (same_) return;
    in_ = dnnl::reorder(plain_, used_);
    out_ = dnnl::reorder(used_, plain_);
  }
  void at(const float* data) { plain_.set_data_handle(const_cast<float*>(data)); }
  void bring() {
    if (!same_) in_.execute(stream(), plain_, used_);
  }
  void give() {
    if (!same_) out_.execute(stream(), used_, plain_);
  }
  const dnnl::memory& used() const { return used_; }

 private:
  bool same_ = true;
  dnnl::memory plain_, used_;
  dnnl::reorder in_, out_;
};

/// Rebuilds state that depends on the shape only when the shape has changed.
class LastShape {
 public:
  bool changed(const Conv2dShape& s) {
    const auto now = std::bit_cast<Numbers>(s);
    if (known_ && now == last_) return false;
    last_ = now;
    known_ = true;
    return true;
  }
  void forget() { known_ = false; }

 private:
  using Numbers = std::array<int64_t, sizeof(Conv2dShape) / sizeof(int64_t)>;
  Numbers last_{};
  bool known_ = false;
};

class Forward {
 public:
  struct Pointers {
    const float *x, *w, *b;
    float* y;
  };

  void run(const Conv2dShape& s, Formats formats, const Pointers& p) {
    if (shape_.changed(s)) make(Layer(s, formats));
    x_.at(p.x);
    w_.at(p.w);
    b_.at(p.b);
    y_.at(p.y);
    x_.bring();
    w_.bring();
    primitive_.execute(stream(), {{DNNL_ARG_SRC, x_.used()},
                                  {DNNL_ARG_WEIGHTS, w_.used()},
                                  {DNNL_ARG_BIAS, b_.used()},
                                  {DNNL_ARG_DST, y_.used()}});
    y_.give();
    stream().wait();
  }

 private:
  void make(const Layer& l) {
    shape_.forget();  // should anything throw
    const dnnl::convolution_forward::primitive_desc how(
        {dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, l.asked_x, l.asked_w, l.b,
         l.asked_y, l.strides, l.dilates, l.padding, l.padding},
        engine());
    primitive_ = dnnl::convolution_forward(how);
    x_ = Tensor(l.x, how.src_desc());
    w_ = Tensor(l.w, how.weights_desc());
    b_ = Tensor(l.b, l.b);
    y_ = Tensor(l.y, how.dst_desc());
  }

  LastShape shape_;
  dnnl::convolution_forward primitive_;
  Tensor x_, w_, b_, y_;
};

class Backward {
 public:
  struct Pointers {
    const float *x, *w, *d_y;
    float *d_x, *d_w, *d_b;
  };

  void run(const Conv2dShape& s, Formats formats, const Pointers& p) {
    if (shape_.changed(s)) make(Layer(s, formats));
    x_.at(p.x);
    w_.at(p.w);
    y_for_data_.at(p.d_y);
    y_for_weights_.at(p.d_y);
    d_x_.at(p.d_x);
    d_w_.at(p.d_w);
    d_b_.at(p.d_b);
    for (Tensor* t : {&x_, &w_, &y_for_data_, &y_for_weights_}) t->bring();
    data_.execute(stream(), {{DNNL_ARG_DIFF_DST, y_for_data_.used()},
                             {DNNL_ARG_WEIGHTS, w_.used()},
                             {DNNL_ARG_DIFF_SRC, d_x_.used()}});
    weights_.execute(stream(), {{DNNL_ARG_SRC, x_.used()},
                                {DNNL_ARG_DIFF_DST, y_for_weights_.used()},
                                {DNNL_ARG_DIFF_WEIGHTS, d_w_.used()},
                                {DNNL_ARG_DIFF_BIAS, d_b_.used()}});
    d_x_.give();
    d_w_.give();
    stream().wait();
  }

 private:
  void make(const Layer& l) {
    shape_.forget();  // should anything throw
    constexpr auto algorithm = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algorithm, l.asked_x, l.asked_w, l.b, l.asked_y, l.strides,
         l.dilates, l.padding, l.padding},
        engine());
    const dnnl::convolution_backward_data::primitive_desc data(
        {algorithm, l.asked_x, l.asked_w, l.asked_y, l.strides, l.dilates, l.padding, l.padding}, engine(),
        forward);
    const dnnl::convolution_backward_weights::primitive_desc weights(
        {algorithm, l.asked_x, l.asked_w, l.b, l.asked_y, l.strides, l.dilates, l.padding, l.padding},
        engine(), forward);
    data_ = dnnl::convolution_backward_data(data);
    weights_ = dnnl::convolution_backward_weights(weights);
    x_ = Tensor(l.x, weights.src_desc());
    w_ = Tensor(l.w, data.weights_desc());
    y_for_data_ = Tensor(l.y, data.diff_dst_desc());
    y_for_weights_ = Tensor(l.y, weights.diff_dst_desc());
    d_x_ = Tensor(l.x, data.diff_src_desc());
    d_w_ = Tensor(l.w, weights.diff_weights_desc());
    d_b_ = Tensor(l.b, l.b);
  }

  LastShape shape_;
  dnnl::convolution_backward_data data_;
  dnnl::convolution_backward_weights weights_;
  Tensor x_, w_, y_for_data_, y_for_weights_, d_x_, d_w_, d_b_;
};

}  // namespace klab::onednn
