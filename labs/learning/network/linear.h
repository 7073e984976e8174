// y = x·W + b: a matrix product and a bias.
#pragma once

#include "labs/learning/network/initialize.h"
#include "labs/learning/network/module.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"
#include "reference/matmul/matmul.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab::learning {

class Linear : public Module {
 public:
  /// Treats an example of any dimensions as one row.
  Linear(Parameters& p, const std::string& name, const Dims& in, int64_t to)
      : Module(name, in),
        from_(volume(in)),
        to_(to),
        weight_(p.add(name + ".weight", {from_, to}, true)),
        bias_(p.add(name + ".bias", {to}, false)) {
    if (from_ < 1) does_not_fit("at least one number");
    out_ = {to};
  }
  void declare(Memory& memory, int64_t n) override {
    product_ = memory.tensor<float>(name_ + ".product", n, to_);
  }
  void initialize(Memory&, uint64_t seed) override { draw_normal(weight_, kaiming(from_), seed); }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) const override {
    pass.ops.call<Matmul>({n, to_, from_}, {.a = x, .b = weight_.w, .c = product_});
    pass.ops.call<BiasAddFwd>({n, to_, 1}, {.x = product_, .bias = bias_.w, .y = y});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float* d_y, float* d_x) const override {
    pass.ops.call<BiasAddBwd>({n, to_, 1}, {.d_y = d_y, .d_bias = bias_.d_w});
    pass.ops.call<MatmulBwd>({n, to_, from_},
                             {.a = x, .b = weight_.w, .d_c = d_y, .d_a = d_x, .d_b = weight_.d_w});
  }

 private:
  int64_t from_, to_;
  Tensor &weight_, &bias_;
  Handle<float> product_;
};

}  // namespace klab::learning
