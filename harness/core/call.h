// Calls a variant through its contract's own arguments, for programs that are made of ops.
//
// The harness binds pointers by position, since it handles every op alike; a program knows which op it calls, and has
// the compiler hold each pointer to the name and the element type that the contract gives it.
#pragma once

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/core/op.h"

namespace klab {

/// Shape -> list of integers in the order of the contract's dims; shape_of() is the way back.
template <class Contract>
std::vector<int64_t> dims_of(const typename Contract::Shape& shape) {
  const auto values =
      std::bit_cast<std::array<int64_t, sizeof(typename Contract::Shape) / sizeof(int64_t)>>(shape);
  return {values.begin(), values.end()};
}

/// "matmul: n = 3, k = -1"
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

/// Throws std::invalid_argument when the contract has no such shape, or when a tensor with elements is a null pointer
/// that the variant reads or writes: all but the optional ones that it does not need. Names dimension or tensor.
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

/// Runs a CPU variant. Throws std::invalid_argument as require_valid() does, and std::logic_error for a variant of another
/// op or another backend, whose function takes other arguments.
template <class Contract>
void call(const Variant& variant, const typename Contract::template Args<float>& args) {
  if (variant.op != Contract::name || variant.function == nullptr)
    throw std::logic_error(variant.id + " is no CPU variant of " + std::string(Contract::name));
  require_valid<Contract>(variant, args);
  reinterpret_cast<decltype(VariantSpec<Contract>::run)>(variant.function)(args);
}

}  // namespace klab
