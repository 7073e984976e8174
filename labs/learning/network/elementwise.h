// Layers without a matrix: a function of each element, and dropout.
#pragma once

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
  void forward(const Pass& pass, int64_t n, const float* x, float* y) const override {
    pass.ops.call<ActivationFwd>({n * volume(in_), kind_}, {.x = x, .y = y});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float* d_y, float* d_x) const override {
    pass.ops.call<ActivationBwd>({n * volume(in_), kind_}, {.x = x, .d_y = d_y, .d_x = d_x});
  }

 private:
  int64_t kind_;
};

/// Drops each element with probability p during training, and none otherwise. The mask depends on seed, draw and the layer's
/// number.
class Dropout : public Module {
 public:
  Dropout(Parameters& all, const std::string& name, const Dims& in, double p)
      : Module(name, in), p_(float(p)), layer_(uint32_t(all.tensors().size())) {
    out_ = in;
  }
  void declare(Memory& memory, int64_t) override {
    probability_ = memory.tensor<float>(name_ + ".probability", 1, 2);
    key_ = memory.tensor<int32_t>(name_ + ".key", 1, 4).as<uint32_t>();
  }
  void initialize(Memory& memory, uint64_t) override {
    const float probability[] = {0, p_};
    memory.write(probability_, probability, sizeof probability);
  }
  void write(Memory& memory, uint64_t seed, uint64_t draw) const override {
    const uint32_t key[] = {uint32_t(seed), uint32_t(seed >> 32), uint32_t(draw), layer_};
    memory.write(key_, key, sizeof key);
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) const override {
    pass.ops.call<DropoutFwd>(
        {n * volume(in_)},
        {.x = x, .p = probability_.from(pass.training), .seed = key_, .offset = key_.from(2), .y = y});
  }
  void backward(const Pass& pass, int64_t n, const float*, const float* d_y, float* d_x) const override {
    pass.ops.call<DropoutBwd>(
        {n * volume(in_)},
        {.d_y = d_y, .p = probability_.from(1), .seed = key_, .offset = key_.from(2), .d_x = d_x});
  }

 private:
  float p_;
  uint32_t layer_;
  Handle<float> probability_;  // outside of training, and in it
  Handle<uint32_t> key_;       // two words of the seed, then the draw and the layer
};

}  // namespace klab::learning
