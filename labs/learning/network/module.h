// A module: one layer of a network. It calls ops of klab through a plan, so that every rung can be exchanged.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/program/plan.h"
#include "harness/program/profile.h"
#include "labs/learning/network/precision.h"
#include "labs/learning/network/tensor.h"

namespace klab::learning {

/// What all modules are told when they run.
struct Pass {
  const Plan& plan;
  Profile& profile;
  bool training = false;  // dropout drops, batch statistics are taken and averaged
  uint64_t seed = 1, step = 0;
  Precision precision = Precision::f32;  // of what layers hand to each other
  Lost* lost = nullptr;                  // what rounding gradients to it did; not null where it is not f32
};

/// A tensor beside the parameters that a checkpoint keeps: a running average.
struct Kept {
  std::string name;
  Dims dims;
  float* values;
};

class Module {
 public:
  Module(std::string name, Dims in) : name_(std::move(name)), in_(std::move(in)) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  const std::string& name() const { return name_; }
  /// Of one example.
  const Dims& in() const { return in_; }
  const Dims& out() const { return out_; }

  /// The ops that a step of n examples calls, evaluation included.
  virtual void calls(int64_t n, std::vector<PlannedCall>& list) const = 0;
  /// Draws the parameters, which allocate() has made.
  virtual void initialize(uint64_t /*seed*/) {}
  /// y [n,out] from x [n,in].
  virtual void forward(const Pass& pass, int64_t n, const float* x, float* y) = 0;
  /// d_x [n,in] from d_y [n,out], and the gradients of the parameters. x and y are those of the last forward.
  virtual void backward(const Pass& pass, int64_t n, const float* x, const float* y, const float* d_y,
                        float* d_x) = 0;
  virtual std::vector<Kept> kept() { return {}; }

 protected:
  /// Throws std::invalid_argument naming the layer and both shapes.
  [[noreturn]] void does_not_fit(const std::string& wanted) const {
    throw std::invalid_argument("layer " + name_ + " takes " + wanted + ", and is given " + dims_text(in_) +
                                ": take another --model or other data");
  }
  std::string name_;
  Dims in_, out_;
};

/// Modules one after the other, and the memory between them.
class Network {
 public:
  explicit Network(Dims in) : in_(std::move(in)) {}

  /// The module is made with the network's parameters, its name, the dimensions it is given, and these.
  template <class M, class... More>
  Network& add(const std::string& name, More... more) {
    modules_.push_back(std::make_unique<M>(parameters_, name, out(), more...));
    return *this;
  }
  /// Memory for batches of n, parameters drawn by seed.
  void build(int64_t n, uint64_t seed) {
    batch_ = n;
    parameters_.allocate();
    for (const auto& m : modules_) {
      values_.emplace_back(n * volume(m->out()));
      gradients_.emplace_back(n * volume(m->in()));
      m->initialize(seed);
    }
  }

  const Dims& in() const { return in_; }
  const Dims& out() const { return modules_.empty() ? in_ : modules_.back()->out(); }
  Parameters& parameters() { return parameters_; }
  int64_t batch() const { return batch_; }
  const std::vector<std::unique_ptr<Module>>& modules() const { return modules_; }
  std::vector<PlannedCall> calls() const {
    std::vector<PlannedCall> list;
    for (const auto& m : modules_) m->calls(batch_, list);
    return list;
  }
  std::vector<Kept> kept() const {
    std::vector<Kept> list;
    for (const auto& m : modules_)
      for (const Kept& k : m->kept()) list.push_back(k);
    return list;
  }

  /// The last module's output, [batch,out].
  const float* forward(const Pass& pass, const float* x) {
    x_ = x;
    for (size_t i = 0; i < modules_.size(); ++i) {
      modules_[i]->forward(pass, batch_, x, values_[i].data());
      if (Lost of_values; i + 1 < modules_.size())  // logits stay in float
        round_to(pass.precision, values_[i].data(), values_[i].size(), of_values);
      x = values_[i].data();
    }
    return x;
  }
  /// Gradients of all parameters from that of the output.
  void backward(const Pass& pass, const float* d_y) {
    for (size_t i = modules_.size(); i-- > 0;) {
      modules_[i]->backward(pass, batch_, i == 0 ? x_ : values_[i - 1].data(), values_[i].data(), d_y,
                            gradients_[i].data());
      if (pass.precision != Precision::f32)
        round_to(pass.precision, gradients_[i].data(), gradients_[i].size(), *pass.lost);
      d_y = gradients_[i].data();
    }
  }
  /// The activations of module i after the last forward, and the gradient of its input after the last backward.
  const Array<float>& values(size_t i) const { return values_[i]; }
  const Array<float>& gradients(size_t i) const { return gradients_[i]; }

 private:
  Dims in_;
  Parameters parameters_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<Array<float>> values_, gradients_;
  const float* x_ = nullptr;
  int64_t batch_ = 0;
};

}  // namespace klab::learning
