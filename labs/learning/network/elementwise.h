// Layers without a matrix: a function of each element, and dropout.
#pragma once

#include <fmt/format.h>

#include "labs/learning/network/module.h"
#include "reference/activation_bwd/activation_bwd.h"
#include "reference/activation_fwd/activation_fwd.h"
#include "reference/dropout_bwd/dropout_bwd.h"
#include "reference/dropout_fwd/dropout_fwd.h"

namespace klab::learning {

class Activation : public Module {
 public:
  Activation(Parameters&, const std::string& name, const Dims& in, int64_t kind)
      : Module(name, in), kind_(kind) {
    out_ = in;
  }
  void calls(int64_t n, std::vector<PlannedCall>& list) const override {
    const std::string size = fmt::format("{} elements", n * volume(in_));
    list.push_back(planned<ActivationFwd>({n * volume(in_), kind_}, size));
    list.push_back(planned<ActivationBwd>({n * volume(in_), kind_}, size));
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) override {
    pass.profile.run<ActivationFwd>("activation_fwd", pass.plan, {{n * volume(in_), kind_}, x, y});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float*, const float* d_y,
                float* d_x) override {
    pass.profile.run<ActivationBwd>("activation_bwd", pass.plan, {{n * volume(in_), kind_}, x, d_y, d_x});
  }

 private:
  int64_t kind_;
};

/// Drops each element with probability p during training. The mask depends on seed, step and the layer's
/// number.
class Dropout : public Module {
 public:
  Dropout(Parameters& all, const std::string& name, const Dims& in, double p)
      : Module(name, in), p_(float(p)), layer_(uint32_t(all.tensors().size())) {
    out_ = in;
  }
  void calls(int64_t n, std::vector<PlannedCall>& list) const override {
    const std::string size = fmt::format("{} elements", n * volume(in_));
    list.push_back(planned<DropoutFwd>({n * volume(in_)}, size));
    list.push_back(planned<DropoutBwd>({n * volume(in_)}, size));
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) override {
    if (!pass.training) {
      std::copy_n(x, n * volume(in_), y);
      return;
    }
    const Key key = key_of(pass);
    pass.profile.run<DropoutFwd>("dropout_fwd", pass.plan,
                                 {{n * volume(in_)}, x, &p_, key.seed, key.offset, y});
  }
  void backward(const Pass& pass, int64_t n, const float*, const float*, const float* d_y,
                float* d_x) override {
    const Key key = key_of(pass);
    pass.profile.run<DropoutBwd>("dropout_bwd", pass.plan,
                                 {{n * volume(in_)}, d_y, &p_, key.seed, key.offset, d_x});
  }

 private:
  struct Key {
    uint32_t seed[2], offset[2];
  };
  Key key_of(const Pass& pass) const {
    return {{uint32_t(pass.seed), uint32_t(pass.seed >> 32)}, {uint32_t(pass.step), layer_}};
  }
  float p_;
  uint32_t layer_;
};

}  // namespace klab::learning
