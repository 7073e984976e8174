// Adjoints of data structures: the gradient in a tuple or a dictionary of tensors has the same structure, tensor by tensor.
//
// A framework needs no rule of differentiation for them. Taking an element out passes its adjoint to that element and zero to
// the others; building a structure splits the adjoint among its parts. Both follow from the tape's rule that contributions are
// added, so a structure is a shape of names around tensors of the tape and no node of its own.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "labs/learning/gradients/tape.h"

namespace klab::gradients {

/// A tensor, a tuple or a dictionary of such, to any depth. Leaf is Tape::Value, or the numbers of one.
template <class Leaf>
class Structure {
 public:
  using Tuple = std::vector<Structure>;
  using Dictionary = std::map<std::string, Structure>;
  Structure(Leaf leaf) : data_(std::move(leaf)) {}                    // NOLINT: a tensor is a structure
  Structure(Tuple tuple) : data_(std::move(tuple)) {}                 // NOLINT
  Structure(Dictionary dictionary) : data_(std::move(dictionary)) {}  // NOLINT

  /// Returns an element. Throws std::invalid_argument that names what is there.
  const Structure& operator[](const std::string& key) const {
    const auto* dictionary = std::get_if<Dictionary>(&data_);
    if (dictionary == nullptr) throw std::invalid_argument("'" + key + "': a " + kind() + " has no names");
    const auto at = dictionary->find(key);
    if (at != dictionary->end()) return at->second;
    std::string there;
    for (const auto& [name, value] : *dictionary) there += (there.empty() ? "" : ", ") + name;
    throw std::invalid_argument("no element '" + key + "'; there are: " + there);
  }
  const Structure& operator[](size_t index) const {
    const auto* tuple = std::get_if<Tuple>(&data_);
    if (tuple == nullptr)
      throw std::invalid_argument("element " + std::to_string(index) + ": a " + kind() + " has no places");
    if (index >= tuple->size())
      throw std::invalid_argument("no element " + std::to_string(index) + " in a tuple of " +
                                  std::to_string(tuple->size()));
    return (*tuple)[index];
  }
  const Leaf& tensor() const {
    const auto* leaf = std::get_if<Leaf>(&data_);
    if (leaf == nullptr) throw std::invalid_argument("a " + kind() + " is no tensor: take an element");
    return *leaf;
  }

  /// Returns the same structure with f of each tensor, in the order of places and names.
  template <class F>
  auto map(F f) const -> Structure<decltype(f(std::declval<Leaf>()))> {
    using Other = Structure<decltype(f(std::declval<Leaf>()))>;
    if (const auto* leaf = std::get_if<Leaf>(&data_)) return Other(f(*leaf));
    if (const auto* tuple = std::get_if<Tuple>(&data_)) {
      typename Other::Tuple out;
      for (const Structure& element : *tuple) out.push_back(element.map(f));
      return Other(std::move(out));
    }
    typename Other::Dictionary out;
    for (const auto& [name, element] : std::get<Dictionary>(data_)) out.emplace(name, element.map(f));
    return Other(std::move(out));
  }
  /// Calls f(path, tensor) for each tensor in that order: "layers[0].scale".
  template <class F>
  void each(const F& f, const std::string& path = "") const {
    if (const auto* leaf = std::get_if<Leaf>(&data_)) return f(path, *leaf);
    if (const auto* tuple = std::get_if<Tuple>(&data_)) {
      for (size_t i = 0; i < tuple->size(); ++i) (*tuple)[i].each(f, path + "[" + std::to_string(i) + "]");
      return;
    }
    for (const auto& [name, element] : std::get<Dictionary>(data_))
      element.each(f, path.empty() ? name : path + "." + name);
  }
  std::string kind() const {
    return std::holds_alternative<Leaf>(data_)    ? "tensor"
           : std::holds_alternative<Tuple>(data_) ? "tuple"
                                                  : "dictionary";
  }

 private:
  std::variant<Leaf, Tuple, Dictionary> data_;
};

using TensorNumbers = std::vector<double>;

/// Returns the gradient of the last backward() in a structure of tensors: the same structure of numbers.
inline Structure<TensorNumbers> gradient_of(const Tape& tape, const Structure<Tape::Value>& x) {
  return x.map([&](Tape::Value v) { return tape.gradient(v); });
}

}  // namespace klab::gradients
