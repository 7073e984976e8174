// Calls a variant through its contract's own arguments, for programs composed of ops.
//
// The harness binds pointers by position, since it handles every op alike. A program knows which op it calls,
// so the compiler can check each pointer's name and element type against the contract.
#pragma once

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/core/op.h"

namespace klab {

/// Converts a shape to a list of integers in the order of the contract's dims; shape_of() is the inverse.
template <class Contract>
std::vector<int64_t> dims_of(const typename Contract::Shape& shape) {
  const auto values =
      std::bit_cast<std::array<int64_t, sizeof(typename Contract::Shape) / sizeof(int64_t)>>(shape);
  return {values.begin(), values.end()};
}

/// Formats a shape: "matmul: n = 3, k = -1".
template <class Contract>
std::string shape_words(const typename Contract::Shape& shape) {
  std::string text(Contract::name);
  size_t next = 0;
  for (const int64_t d : dims_of<Contract>(shape)) {
    text += std::string(next == 0 ? ": " : ", ") + Contract::dims[next] + " = " + std::to_string(d);
    ++next;
  }
  return text;
}

/// Throws std::invalid_argument if the shape is not valid for the contract, or if a non-empty tensor that the
/// variant uses is a null pointer. Optional tensors that it does not need may be null. The message names the
/// dimension or tensor.
template <class Contract>
void require_valid(const Variant& variant, typename Contract::template Args<float> args) {
  bool valid = true;
  if constexpr (requires { Contract::valid(args.shape); })
    valid = Contract::valid(args.shape);
  else
    for (const int64_t d : dims_of<Contract>(args.shape)) valid = valid && d >= 0;
  if (!valid)
    throw std::invalid_argument(shape_words<Contract>(args.shape) + ": is no shape of this operation");
  Contract::tensors(args, [&](std::string_view name, auto& pointer, Role, Draw, const Dims& dims) {
    if (pointer != nullptr || volume(dims) == 0) return;
    if (is_optional<Contract>(name) && std::ranges::find(variant.needs, name) == variant.needs.end()) return;
    throw std::invalid_argument(variant.id + ": the tensor " + std::string(name) + " of " +
                                std::to_string(volume(dims)) + " elements was not given");
  });
}

/// Runs a CPU variant. Throws std::invalid_argument as require_valid() does, and std::logic_error for a
/// variant of another op or backend, whose function takes other arguments.
template <class Contract>
void call(const Variant& variant, const typename Contract::template Args<float>& args) {
  if (variant.op != Contract::name || variant.function == nullptr)
    throw std::logic_error(variant.id + " is no CPU variant of " + std::string(Contract::name));
  require_valid<Contract>(variant, args);
  reinterpret_cast<decltype(VariantSpec<Contract>::run)>(variant.function)(args);
}

}  // namespace klab
