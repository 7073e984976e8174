// Normalization layers: over the batch, and over an example.
#pragma once

#include <fmt/format.h>

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
        beta_(p.add(name + ".beta", {channels_}, false)),
        running_mean_(channels_),
        running_var_(channels_),
        mean_(channels_),
        rstd_(channels_) {
    out_ = in;
  }
  void calls(int64_t n, std::vector<PlannedCall>& list) const override {
    const std::string size = fmt::format("{} examples of {}", n, dims_text(in_));
    list.push_back(planned<BatchnormFwd>({n, channels_, positions()}, size));
    list.push_back(planned<BatchnormBwd>({n, channels_, positions()}, size));
    list.push_back(planned<BatchnormInference>({n, channels_, positions()}, size, 0));
  }
  void initialize(uint64_t) override {
    std::fill_n(gamma_.value, channels_, 1.0F);
    std::fill_n(running_var_.data(), channels_, 1.0F);
    std::fill_n(running_mean_.data(), channels_, 0.0F);
  }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) override {
    if (pass.training)
      pass.profile.run<BatchnormFwd>("batchnorm_fwd", pass.plan,
                                     {{n, channels_, positions()},
                                      x,
                                      gamma_.value,
                                      beta_.value,
                                      &epsilon_,
                                      &momentum_,
                                      running_mean_.data(),
                                      running_var_.data(),
                                      y,
                                      mean_.data(),
                                      rstd_.data()});
    else
      pass.profile.run<BatchnormInference>("batchnorm_inference", pass.plan,
                                           {{n, channels_, positions()},
                                            x,
                                            gamma_.value,
                                            beta_.value,
                                            &epsilon_,
                                            running_mean_.data(),
                                            running_var_.data(),
                                            y});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float*, const float* d_y,
                float* d_x) override {
    pass.profile.run<BatchnormBwd>("batchnorm_bwd", pass.plan,
                                   {{n, channels_, positions()},
                                    x,
                                    gamma_.value,
                                    mean_.data(),
                                    rstd_.data(),
                                    d_y,
                                    d_x,
                                    gamma_.gradient,
                                    beta_.gradient});
  }
  std::vector<Kept> kept() override {
    return {{name_ + ".running_mean", {channels_}, running_mean_.data()},
            {name_ + ".running_var", {channels_}, running_var_.data()}};
  }

 private:
  int64_t positions() const { return volume(in_) / std::max<int64_t>(1, channels_); }
  int64_t channels_;
  Tensor &gamma_, &beta_;
  Array<float> running_mean_, running_var_, mean_, rstd_;
  float epsilon_ = 1e-5F, momentum_ = 0.1F;
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
  void calls(int64_t n, std::vector<PlannedCall>& list) const override {
    const std::string size = fmt::format("{} rows of {}", n, features_);
    list.push_back(planned<LayernormFwd>({n, features_}, size));
    list.push_back(planned<LayernormBwd>({n, features_}, size));
  }
  void initialize(uint64_t) override { std::fill_n(gamma_.value, features_, 1.0F); }
  void forward(const Pass& pass, int64_t n, const float* x, float* y) override {
    if (mean_.size() < n) mean_ = Array<float>(n), rstd_ = Array<float>(n);
    pass.profile.run<LayernormFwd>(
        "layernorm_fwd", pass.plan,
        {{n, features_}, x, gamma_.value, beta_.value, &epsilon_, y, mean_.data(), rstd_.data()});
  }
  void backward(const Pass& pass, int64_t n, const float* x, const float*, const float* d_y,
                float* d_x) override {
    pass.profile.run<LayernormBwd>("layernorm_bwd", pass.plan,
                                   {{n, features_},
                                    x,
                                    gamma_.value,
                                    mean_.data(),
                                    rstd_.data(),
                                    d_y,
                                    d_x,
                                    gamma_.gradient,
                                    beta_.gradient});
  }

 private:
  int64_t features_;
  Tensor &gamma_, &beta_;
  Array<float> mean_, rstd_;
  float epsilon_ = 1e-5F;
};

}  // namespace klab::learning
