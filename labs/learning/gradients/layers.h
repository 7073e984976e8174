// The first of three designs: layers that know their own backward.
//
// A network is a list of objects. Each keeps what its backward needs and returns the gradient of its input.
// The chain rule is the loop over the list, and that is all the framework there is (Caffe, Torch). It can
// express only chains. Every new layer needs a hand-written backward, which is also why it can be as fast as
// its author can make it.
//
//   layers with own backward   layers.h   a list of objects     fixed chain; nothing to optimize, nothing to
//   record
//   a graph first              graph.h    an expression         dead code and equal parts removed, gradients
//   of gradients
//   define by run              tape.h     the program itself    any control flow; a tape as long as the run
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace klab::gradients {

class Layer {
 public:
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;
  virtual std::vector<double> forward(const std::vector<double>& x) = 0;
  /// Returns the gradient with respect to the last forward's input, given that with respect to its output.
  virtual std::vector<double> backward(const std::vector<double>& d_y) = 0;
};

/// y = W·x, W row-major.
class Linear : public Layer {
 public:
  Linear(size_t in, std::vector<double> w) : in_(in), weights(std::move(w)), gradient(weights.size()) {}
  std::vector<double> forward(const std::vector<double>& x) override {
    x_ = x;
    std::vector<double> y(weights.size() / in_);
    for (size_t i = 0; i < weights.size(); ++i) y[i / in_] += weights[i] * x[i % in_];
    return y;
  }
  std::vector<double> backward(const std::vector<double>& d_y) override {
    std::vector<double> d_x(in_);
    for (size_t i = 0; i < weights.size(); ++i) {
      d_x[i % in_] += weights[i] * d_y[i / in_];
      gradient[i] += x_[i % in_] * d_y[i / in_];
    }
    return d_x;
  }

 private:
  size_t in_;
  std::vector<double> x_;

 public:
  std::vector<double> weights, gradient;
};

class Tanh : public Layer {
 public:
  std::vector<double> forward(const std::vector<double>& x) override {
    y_ = x;
    for (double& v : y_) v = std::tanh(v);
    return y_;
  }
  std::vector<double> backward(const std::vector<double>& d_y) override {
    std::vector<double> d_x = d_y;
    for (size_t i = 0; i < d_x.size(); ++i) d_x[i] *= 1 - y_[i] * y_[i];
    return d_x;
  }

 private:
  std::vector<double> y_;
};

}  // namespace klab::gradients
