// Tensors of a network's parameters: named, and stored together in two arrays, so that an optimizer updates
// all of them in two calls.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "harness/program/memory.h"
#include "reference/contract.h"

namespace klab::learning {

struct Tensor {
  std::string name;  // "conv1.weight"
  Dims dims;
  bool decays;  // true for matrices and kernels; false for biases, scales and shifts
  float* value = nullptr;
  float* gradient = nullptr;
  int64_t size() const { return volume(dims); }
};

/// All parameters of a network. Modules add theirs; then allocate() reserves zeroed memory, each at a cache
/// line.
class Parameters {
 public:
  Tensor& add(std::string name, Dims dims, bool decays) {
    return tensors_.emplace_back(Tensor{std::move(name), std::move(dims), decays});
  }
  void allocate() {
    for (Group& g : groups_) g.values = Array<float>(g.size = 0);
    for (const Tensor& t : tensors_) groups_[t.decays].size += padded(t.size());
    for (Group& g : groups_) g.values = Array<float>(g.size), g.gradients = Array<float>(g.size);
    int64_t used[2] = {0, 0};
    for (Tensor& t : tensors_) {
      Group& g = groups_[t.decays];
      t.value = g.values.data() + used[t.decays];
      t.gradient = g.gradients.data() + used[t.decays];
      used[t.decays] += padded(t.size());
    }
  }
  /// The tensors of one kind as one array. The padding between tensors is zero and stays zero.
  struct Group {
    int64_t size = 0;
    Array<float> values, gradients;
  };
  Group& group(bool decays) { return groups_[decays]; }
  std::deque<Tensor>& tensors() { return tensors_; }
  const std::deque<Tensor>& tensors() const { return tensors_; }
  /// Returns the number of trainable parameters, without padding.
  int64_t count() const {
    int64_t n = 0;
    for (const Tensor& t : tensors_) n += t.size();
    return n;
  }

 private:
  static int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }
  std::deque<Tensor> tensors_;  // a deque, so references to elements stay valid
  Group groups_[2];
};

/// Formats dimensions: "[1,28,28]".
inline std::string dims_text(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace klab::learning
