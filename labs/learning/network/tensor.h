// Tensors of a network's parameters: named, and stored together in two arrays, so that an optimizer updates
// all of them in two calls.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "harness/program/memory.h"
#include "harness/program/tensors.h"
#include "reference/contract.h"

namespace klab::learning {

/// An array of the host, and its place in the memory of programs: the same array on the processor, else a copy.
template <class T>
struct Mirrored {
  Array<T> host;
  Handle<T> place;
  void declare(Memory& memory, const std::string& name, int64_t n) {
    host = Array<T>(n);
    place = memory.tensor<T>(name, 1, n);
    memory.mirror(place, host.data());
  }
};

struct Tensor {
  std::string name;  // "conv1.weight"
  Dims dims;
  bool decays;             // true for matrices and kernels; false for biases, scales and shifts
  float* value = nullptr;  // of the host, and
  float* gradient = nullptr;
  Handle<float> w = {}, d_w = {};  // of programs
  int64_t size() const { return volume(dims); }
};

/// All parameters of a network. Modules add theirs; then declare() reserves zeroed memory, each at a cache
/// line.
class Parameters {
 public:
  Tensor& add(std::string name, Dims dims, bool decays) {
    return tensors_.emplace_back(Tensor{std::move(name), std::move(dims), decays});
  }
  /// `trains`: with the gradient, which a network that only predicts lacks.
  void declare(Memory& memory, bool trains = true) {
    for (Group& g : groups_) g.size = 0;
    for (const Tensor& t : tensors_) groups_[t.decays].size += padded(t.size());
    values_.declare(memory, "parameters", size());
    if (trains) gradients_.declare(memory, "gradient", size());
    std::array<int64_t, 2> used = {0, groups_[false].size};
    for (const bool decays : {false, true}) {
      Group& g = groups_[decays];
      const auto at = size_t(used[decays]), n = size_t(g.size);
      g.values = std::span(values_.host.data(), size_t(size())).subspan(at, n);
      g.w = values_.place.from(used[decays]);
      if (!trains) continue;
      g.gradients = std::span(gradients_.host.data(), size_t(size())).subspan(at, n);
      g.d_w = gradients_.place.from(used[decays]);
    }
    for (Tensor& t : tensors_) {
      int64_t& at = used[t.decays];
      t.value = values_.host.data() + at;
      t.w = values_.place.from(at);
      if (trains) t.gradient = gradients_.host.data() + at, t.d_w = gradients_.place.from(at);
      at += padded(t.size());
    }
  }
  /// The tensors of one kind as one array. The padding between tensors is zero and stays zero.
  struct Group {
    int64_t size = 0;
    std::span<float> values, gradients;
    Handle<float> w, d_w;
  };
  Group& group(bool decays) { return groups_[decays]; }
  const Group& group(bool decays) const { return groups_[decays]; }
  /// Returns the numbers of both groups, which follow one another, and the gradient of them all.
  int64_t size() const { return groups_[false].size + groups_[true].size; }
  const Handle<float>& gradient() const { return gradients_.place; }
  /// Leaves out all tensors but [first, last). References to these stay valid.
  void keep(size_t first, size_t last) {
    while (tensors_.size() > last) tensors_.pop_back();
    for (; first > 0; --first) tensors_.pop_front();
  }
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
  std::array<Group, 2> groups_;
  Mirrored<float> values_, gradients_;
};

/// Formats dimensions: "[1,28,28]".
inline std::string dims_text(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace klab::learning
