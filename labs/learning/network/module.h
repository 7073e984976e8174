// A module: one layer of a network. It calls ops by their contracts, as every program of ops does (harness/program/ops.h), so every
// rung can be exchanged.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/program/ops.h"
#include "labs/learning/network/precision.h"
#include "labs/learning/network/tensor.h"

namespace klab::learning {

/// Arguments that all modules get when they run.
struct Pass {
  Ops& ops;
  bool training = false;                 // dropout is active, and batch statistics are used and averaged
  Precision precision = Precision::f32;  // of activations passed between layers, and of their gradients
  /// A 1, and what rounding to that precision does: [6] as in round_narrow, of gradients, then of other tensors. None in f32.
  Handle<float> one = {};
  Handle<int32_t> lost = {};
  bool again = false;  // an output that was not kept is computed a second time: running averages stay
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

  /// Declares the tensors that batches of n need besides parameters, inputs and outputs.
  virtual void declare(Memory& /*memory*/, int64_t /*n*/) {}
  /// Sets parameters, and writes constants, when there is memory.
  virtual void initialize(Memory& /*memory*/, uint64_t /*seed*/) {}
  /// Writes what the next pass draws random numbers by.
  virtual void write(Memory& /*memory*/, uint64_t /*seed*/, uint64_t /*draw*/) const {}
  /// Computes y [n,out] from x [n,in].
  virtual void forward(const Pass& pass, int64_t n, const float* x, float* y) const = 0;
  /// Computes d_x [n,in] and the gradients of the parameters from d_y [n,out]. x is that of the last forward.
  virtual void backward(const Pass& pass, int64_t n, const float* x, const float* d_y, float* d_x) const = 0;
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

}  // namespace klab::learning
