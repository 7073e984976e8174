// y = x·W + b: a matrix product and a bias.
#pragma once

#include <fmt/format.h>

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
  void calls(int64_t n, std::vector<PlannedCall>& list) const override {
    const std::string size = fmt::format("{}x{}x{}", n, to_, from_);
    list.push_back(planned<Matmul>({n, to_, from_}, size));
    list.push_back(planned<BiasAddFwd>({n, to_, 1}, size));
    list.push_back(planned<MatmulBwd>({n, to_, from_}, size));
    list.push_back(planned<BiasAddBwd>({n, to_, 1}, size));
  }
  void initialize(uint64_t seed) override { draw_normal(weight_, kaiming(from_), seed); }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) override {
    if (product_.size() < n * to_) product_ = Array<float>(n * to_);
    pass.profile.run<Matmul>("matmul", pass.plan, {{n, to_, from_}, x, weight_.value, product_.data()});
    pass.profile.run<BiasAddFwd>("bias_add_fwd", pass.plan, {{n, to_, 1}, product_.data(), bias_.value, y});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float*, const float* d_y,
                float* d_x) override {
    pass.profile.run<BiasAddBwd>("bias_add_bwd", pass.plan, {{n, to_, 1}, d_y, bias_.gradient});
    pass.profile.run<MatmulBwd>("matmul_bwd", pass.plan,
                                {{n, to_, from_}, x, weight_.value, d_y, d_x, weight_.gradient});
  }

 private:
  int64_t from_, to_;
  Tensor &weight_, &bias_;
  Array<float> product_;
};

}  // namespace klab::learning
