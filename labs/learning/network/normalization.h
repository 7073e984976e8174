// Normalization layers: over the batch, and over an example.
#pragma once

#include <algorithm>

#include "labs/learning/network/module.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab::learning {

/// Normalizes each channel over batch and positions during training, and by running averages afterwards.
class BatchNorm : public Module {
 public:
  BatchNorm(Parameters& p, const std::string& name, const Dims& in)
      : Module(name, in),
        channels_(in.at(0)),
        gamma_(p.add(name + ".gamma", {channels_}, false)),
        beta_(p.add(name + ".beta", {channels_}, false)) {
    out_ = in;
  }
  void declare(Memory& memory, int64_t) override {
    running_mean_.declare(memory, name_ + ".running_mean", channels_);
    running_var_.declare(memory, name_ + ".running_var", channels_);
    statistics_ = memory.tensor<float>(name_ + ".statistics", 4, channels_);
    constants_ = memory.tensor<float>(name_ + ".constants", 1, 2);
  }
  void initialize(Memory& memory, uint64_t) override {
    std::fill_n(gamma_.value, channels_, 1.0F);
    std::ranges::fill(running_var_.host, 1.0F);
    constexpr float constants[] = {1e-5F, 0.1F};
    memory.write(constants_, constants, sizeof constants);
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) const override {
    if (!pass.training)
      return pass.ops.call<BatchnormInference>({n, channels_, positions()},
                                               {.x = x,
                                                .gamma = gamma_.w,
                                                .beta = beta_.w,
                                                .epsilon = constants_,
                                                .running_mean = running_mean_.place,
                                                .running_var = running_var_.place,
                                                .y = y});
    pass.ops.call<BatchnormFwd>(
        {n, channels_, positions()},
        {.x = x,
         .gamma = gamma_.w,
         .beta = beta_.w,
         .epsilon = constants_,
         .momentum = constants_.from(1),
         .running_mean = pass.again ? statistics_.row(2) : running_mean_.place,  // averaged once already
         .running_var = pass.again ? statistics_.row(3) : running_var_.place,
         .y = y,
         .mean = statistics_,
         .rstd = statistics_.row(1)});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float* d_y, float* d_x) const override {
    pass.ops.call<BatchnormBwd>({n, channels_, positions()}, {.x = x,
                                                              .gamma = gamma_.w,
                                                              .mean = statistics_,
                                                              .rstd = statistics_.row(1),
                                                              .d_y = d_y,
                                                              .d_x = d_x,
                                                              .d_gamma = gamma_.d_w,
                                                              .d_beta = beta_.d_w});
  }
  std::vector<Kept> kept() override {
    return {{name_ + ".running_mean", {channels_}, running_mean_.host.data()},
            {name_ + ".running_var", {channels_}, running_var_.host.data()}};
  }

 private:
  int64_t positions() const { return volume(in_) / std::max<int64_t>(1, channels_); }
  int64_t channels_;
  Tensor &gamma_, &beta_;
  Mirrored<float> running_mean_, running_var_;
  Handle<float> statistics_;  // [4,channels] mean, 1/deviation; running averages that nothing reads
  Handle<float> constants_;   // epsilon, momentum
};

/// Normalizes each example over its features.
class LayerNorm : public Module {
 public:
  LayerNorm(Parameters& p, const std::string& name, const Dims& in)
      : Module(name, in),
        features_(volume(in)),
        gamma_(p.add(name + ".gamma", {features_}, false)),
        beta_(p.add(name + ".beta", {features_}, false)) {
    out_ = in;
  }
  void declare(Memory& memory, int64_t n) override {
    statistics_ = memory.tensor<float>(name_ + ".statistics", 2, n);
    epsilon_ = memory.tensor<float>(name_ + ".epsilon", 1, 1);
  }
  void initialize(Memory& memory, uint64_t) override {
    std::fill_n(gamma_.value, features_, 1.0F);
    constexpr float epsilon = 1e-5F;
    memory.write(epsilon_, &epsilon, sizeof epsilon);
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) const override {
    pass.ops.call<LayernormFwd>({n, features_}, {.x = x,
                                                 .gamma = gamma_.w,
                                                 .beta = beta_.w,
                                                 .epsilon = epsilon_,
                                                 .y = y,
                                                 .mean = statistics_,
                                                 .rstd = statistics_.row(1)});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float* d_y, float* d_x) const override {
    pass.ops.call<LayernormBwd>({n, features_}, {.x = x,
                                                 .gamma = gamma_.w,
                                                 .mean = statistics_,
                                                 .rstd = statistics_.row(1),
                                                 .d_y = d_y,
                                                 .d_x = d_x,
                                                 .d_gamma = gamma_.d_w,
                                                 .d_beta = beta_.d_w});
  }

 private:
  int64_t features_;
  Tensor &gamma_, &beta_;
  Handle<float> statistics_;  // [2,n] mean, 1/deviation
  Handle<float> epsilon_;
};

}  // namespace klab::learning
