// A module: one layer of a network. It calls klab's ops through a plan, so every rung can be exchanged.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/program/plan.h"
#include "harness/program/profile.h"
#include "labs/learning/network/precision.h"
#include "labs/learning/network/tensor.h"

namespace klab::learning {

/// Arguments that all modules get when they run.
struct Pass {
  const Plan& plan;
  Profile& profile;
  bool training = false;  // dropout is active, and batch statistics are used and averaged
  uint64_t seed = 1, step = 0;
  Precision precision = Precision::f32;  // of activations passed between layers
  // statistics of rounding gradients to that precision; not null unless it is f32
  Lost* lost = nullptr;
};

/// A tensor other than a parameter that a checkpoint contains: a running average.
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
  /// Dimensions of one example.
  const Dims& in() const { return in_; }
  const Dims& out() const { return out_; }

  /// Appends the ops that a step of n examples calls, including evaluation.
  virtual void calls(int64_t n, std::vector<PlannedCall>& list) const = 0;
  /// Initializes the parameters, for which allocate() has reserved memory.
  virtual void initialize(uint64_t /*seed*/) {}
  /// Computes y [n,out] from x [n,in].
  virtual void forward(const Pass& pass, int64_t n, const float* x, float* y) = 0;
  /// Computes d_x [n,in] and the gradients of the parameters from d_y [n,out]. x and y are those of the last
  /// forward.
  virtual void backward(const Pass& pass, int64_t n, const float* x, const float* y, const float* d_y,
                        float* d_x) = 0;
  virtual std::vector<Kept> kept() { return {}; }

 protected:
  /// Throws std::invalid_argument that names the layer and both shapes.
  [[noreturn]] void does_not_fit(const std::string& wanted) const {
    throw std::invalid_argument("layer " + name_ + " takes " + wanted + ", and is given " + dims_text(in_) +
                                ": take another --model or other data");
  }
  std::string name_;
  Dims in_, out_;
};

/// A sequence of modules, and the memory between them.
class Network {
 public:
  explicit Network(Dims in) : in_(std::move(in)) {}

  /// Adds a module, constructed from the network's parameters, its name, its input dimensions, and further
  /// arguments.
  template <class M, class... More>
  Network& add(const std::string& name, More... more) {
    modules_.push_back(std::make_unique<M>(parameters_, name, out(), more...));
    return *this;
  }
  /// Allocates memory for batches of n, and initializes parameters by seed. Only every `keep`-th output
  /// between modules is kept from forward to backward. The others are recomputed, segment by segment (Chen et
  /// al., "Training Deep Nets with Sublinear Memory Cost", 2016). 1 keeps all.
  void build(int64_t n, uint64_t seed, int64_t keep = 1) {
    batch_ = n;
    keep_ = size_t(keep);
    parameters_.allocate();
    int64_t widest = 0;
    std::vector<int64_t> within(keep_, 0);  // largest output at each position within a segment
    for (size_t i = 0; i < modules_.size(); ++i) {
      widest = std::max(widest, n * volume(modules_[i]->in()));
      within[i % keep_] = std::max(within[i % keep_], n * volume(modules_[i]->out()));
    }
    for (const int64_t size : within) between_.emplace_back(keep_ > 1 ? size : 0);
    // Only the preceding module needs the gradient of an input, so two arrays suffice when memory is scarce.
    for (size_t i = 0; i < modules_.size(); ++i) {
      values_.emplace_back(is_kept(i) ? n * volume(modules_[i]->out()) : 0);
      gradients_.emplace_back(keep_ == 1 ? n * volume(modules_[i]->in()) : i < 2 ? widest : 0);
      modules_[i]->initialize(seed);
    }
  }
  /// Returns the bytes of outputs and of their gradients.
  int64_t activation_bytes() const {
    int64_t sum = 0;
    for (const auto* arrays : {&values_, &gradients_, &between_})
      for (const Array<float>& a : *arrays) sum += a.bytes();
    return sum;
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

  /// Returns the last module's output, [batch,out].
  const float* forward(const Pass& pass, const float* x) {
    x_ = x;
    for (size_t i = 0; i < modules_.size(); ++i) forward(pass, i);
    return modules_.empty() ? x : output(i_last());
  }
  /// Computes the gradients of all parameters from that of the output.
  void backward(const Pass& pass, const float* d_y) {
    for (size_t i = modules_.size(); i-- > 0;) {
      // The last segment is still where the forward left it.
      if (keep_ > 1 && is_kept(i) && i != i_last()) forward_again(pass, i / keep_ * keep_, i);
      Array<float>& to = gradients_[keep_ == 1 ? i : i % 2];
      modules_[i]->backward(pass, batch_, input(i), output(i), d_y, to.data());
      if (pass.precision != Precision::f32)
        round_to(pass.precision, to.data(), batch_ * volume(modules_[i]->in()), *pass.lost);
      d_y = to.data();
    }
  }
  /// Return the activations of module i after the last forward, and the gradient of its input after the last
  /// backward. Valid only if all outputs are kept.
  const Array<float>& values(size_t i) const { return values_[i]; }
  const Array<float>& gradients(size_t i) const { return gradients_[i]; }

 private:
  size_t i_last() const { return modules_.size() - 1; }
  bool is_kept(size_t i) const { return (i + 1) % keep_ == 0 || i == i_last(); }
  float* output(size_t i) { return is_kept(i) ? values_[i].data() : between_[i % keep_].data(); }
  const float* input(size_t i) { return i == 0 ? x_ : output(i - 1); }
  void forward(const Pass& pass, size_t i) {
    modules_[i]->forward(pass, batch_, input(i), output(i));
    if (Lost of_values; i != i_last())  // logits stay in float
      round_to(pass.precision, output(i), batch_ * volume(modules_[i]->out()), of_values);
  }
  /// Recomputes the outputs of a segment that were not kept. Restores the running averages, which the forward
  /// has already updated once.
  void forward_again(const Pass& pass, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      std::vector<std::vector<float>> before;
      for (const Kept& k : modules_[i]->kept()) before.emplace_back(k.values, k.values + volume(k.dims));
      forward(pass, i);
      size_t at = 0;
      for (const Kept& k : modules_[i]->kept()) std::copy_n(before[at++].data(), volume(k.dims), k.values);
    }
  }

  Dims in_;
  Parameters parameters_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<Array<float>> values_, gradients_, between_;
  const float* x_ = nullptr;
  int64_t batch_ = 0;
  size_t keep_ = 1;
};

}  // namespace klab::learning
