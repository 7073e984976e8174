// What must hold between the outputs of one call, whatever their values are: replicas that are the same bit by bit, copies that are
// roundings of what they copy. Each output may be within its bound, and the outputs still contradict each other.
//
// A relation is part of the contract. It stands next to the reference, in the same file:
//
//   const Related<AllreduceGradients, different_replicas> kReplicas("all replicas are the same");
//
// where `std::string different_replicas(const AllreduceGradients::Args<float>&)` returns where it does not hold, "" if it holds.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/contract.h"

namespace klab {

struct Relation {
  std::string_view op;
  std::string what;  // "all replicas are the same"
  /// Returns where it does not hold: "param[2,17] is 0.5, param[0,17] is 0.25"; empty where it holds.
  std::string (*broken)(std::span<const int64_t> shape, std::span<void* const> tensors);
};

/// Returns "param[2,17] is 0.5", with digits enough to tell a float from its neighbors.
inline std::string value_text(std::string_view tensor, std::initializer_list<int64_t> index, double value) {
  std::string text(tensor);
  for (const int64_t i : index) text += (text.size() == tensor.size() ? '[' : ',') + std::to_string(i);
  std::array<char, 40> digits{};
  std::snprintf(digits.data(), digits.size(), "] is %.9g", value);
  return text + digits.data();
}

/// All relations of this program.
inline std::vector<Relation>& relations() {
  static std::vector<Relation> list;
  return list;
}

/// States that `broken` returns "" after each call of a variant of this contract.
template <class Contract, auto broken>
struct Related {
  explicit Related(std::string what) { relations().push_back({Contract::name, std::move(what), untyped}); }

 private:
  static std::string untyped(std::span<const int64_t> shape, std::span<void* const> tensors) {
    typename Contract::template Args<float> args{};
    std::memcpy(&args.shape, shape.data(), sizeof args.shape);  // int64_t fields only
    size_t next = 0;
    Contract::tensors(args, [&](std::string_view, auto& pointer, Role, Draw, const Dims&) {
      pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(tensors[next++]);
    });
    return broken(args);
  }
};

}  // namespace klab
