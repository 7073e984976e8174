// oneDNN's pooling, forward and backward, for the variants that compare with it. Include it where
// KLAB_HAVE_ONEDNN is 1.
//
// A backward of a maximum needs the largest pixels from a forward in training, so that forward is part of it:
// the contract keeps nothing between the two. Primitives are kept for the last shape; values are not.
#pragma once

#include <array>
#include <bit>
#include <string>
#include <unordered_map>
#include <vector>

#include "dnnl.hpp"
#include "reference/pool_fwd/pool_fwd.h"

namespace klab::onednn {

inline std::string why_not(const PoolShape& s) {
  return s.n * s.c == 0 ? "oneDNN takes no tensors without elements" : "";
}

class Pool {
 public:
  /// y = pool(x); with d_x also the gradient.
  void run(const PoolShape& s, const float* x, float* y, const float* d_y = nullptr, float* d_x = nullptr) {
    const auto now = std::bit_cast<Numbers>(s);
    if (!known_ || now != last_) make(s, d_x != nullptr);
    last_ = now;
    known_ = true;
    x_.set_data_handle(const_cast<float*>(x));
    if (y == nullptr && !kept_.empty()) y = kept_.data();
    y_.set_data_handle(y);
    const bool is_max = s.is_max();
    if (d_x == nullptr || is_max) {
      std::unordered_map<int, dnnl::memory> forward = {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DST, y_}};
      if (d_x != nullptr) forward[DNNL_ARG_WORKSPACE] = workspace_;
      forward_.execute(stream_, forward);
    }
    if (d_x != nullptr) {
      d_y_.set_data_handle(const_cast<float*>(d_y));
      d_x_.set_data_handle(d_x);
      std::unordered_map<int, dnnl::memory> backward = {{DNNL_ARG_DIFF_DST, d_y_}, {DNNL_ARG_DIFF_SRC, d_x_}};
      if (is_max) backward[DNNL_ARG_WORKSPACE] = workspace_;
      backward_.execute(stream_, backward);
    }
    stream_.wait();
  }

 private:
  using Numbers = std::array<int64_t, sizeof(PoolShape) / sizeof(int64_t)>;

  void make(const PoolShape& s, bool training) {
    using namespace dnnl;
    known_ = false;
    const auto tag = s.nhwc != 0 ? memory::format_tag::nhwc : memory::format_tag::nchw;
    const memory::desc x({s.n, s.c, s.h, s.w}, memory::data_type::f32, tag);
    const memory::desc y({s.n, s.c, s.oh(), s.ow()}, memory::data_type::f32, tag);
    const auto how = s.kind == 0   ? algorithm::pooling_max
                     : s.kind == 1 ? algorithm::pooling_avg_exclude_padding
                                   : algorithm::pooling_avg_include_padding;
    const memory::dims strides{s.stride_y, s.stride_x}, window{s.r, s.s}, before{s.pad_y, s.pad_x};
    // How far the last window reaches beyond the image, which may be less than the padding.
    const memory::dims after{(s.oh() - 1) * s.stride_y + s.r - s.h - s.pad_y,
                             (s.ow() - 1) * s.stride_x + s.s - s.w - s.pad_x};
    const pooling_forward::primitive_desc forward(
        {training ? prop_kind::forward_training : prop_kind::forward_inference, how, x, y, strides, window,
         before, after},
        engine_);
    forward_ = pooling_forward(forward);
    x_ = memory(x, engine_, nullptr);
    y_ = memory(y, engine_, nullptr);
    if (!training) return;
    const pooling_backward::primitive_desc backward({how, x, y, strides, window, before, after}, engine_,
                                                    forward);
    backward_ = pooling_backward(backward);
    d_x_ = memory(x, engine_, nullptr);
    d_y_ = memory(y, engine_, nullptr);
    kept_.resize(size_t(s.n * s.c * s.oh() * s.ow()));
    if (s.is_max()) workspace_ = memory(forward.workspace_desc(), engine_);
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  Numbers last_{};
  bool known_ = false;
  dnnl::pooling_forward forward_;
  dnnl::pooling_backward backward_;
  dnnl::memory x_, y_, d_x_, d_y_, workspace_;
  std::vector<float> kept_;  // y of a backward, not part of the result
};

}  // namespace klab::onednn
