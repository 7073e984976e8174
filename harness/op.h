// An operation with its contract forgotten, so that check, gradient check and benchmark are written once.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/registrar.h"
#include "reference/contract.h"

namespace klab {

/// Element types that may stand behind a contract's pointers.
enum class Element { f32, f64, f16, bf16, i8, u8, i32, u32, i64 };

int64_t size_of(Element element);  // bytes

struct TensorSpec {
  std::string name;
  Role role = Role::input;
  Draw draw = Draw::real;
  Dims dims;
  Element element = Element::f32;  // of the variants' view; where f32, the reference sees f64
};

struct Op {
  std::string name;
  std::vector<std::string> dims;
  std::string forward;   // name of the forward op when this is a backward, else empty
  bool on_host = false;  // CUDA variants are given tensors in the host's memory
  std::function<bool(ShapeView)> valid;
  std::function<std::vector<TensorSpec>(ShapeView)> tensors;
  std::function<Cost(ShapeView)> cost;
  std::function<double(ShapeView)> terms;
  /// Rewrites the float inputs; empty when the contract has no rule for them.
  std::function<void(ShapeView, std::span<void* const>, std::mt19937_64&)> arrange;
  /// The double reference. `x` and `magnitude` are pointers in the contract's order: f64 where variants see f32.
  std::function<void(ShapeView, std::span<void* const> x, std::span<void* const> magnitude)> reference;
};

namespace detail {
template <class T>
constexpr Element element_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>)
    return Element::f32;
  else if constexpr (std::is_same_v<U, double>)
    return Element::f64;
  else if constexpr (std::is_same_v<U, int8_t>)
    return Element::i8;
  else if constexpr (std::is_same_v<U, uint8_t>)
    return Element::u8;
  else if constexpr (std::is_same_v<U, uint16_t>)
    return Element::f16;  // half precision travels as its bits
  else if constexpr (std::is_same_v<U, int32_t>)
    return Element::i32;
  else if constexpr (std::is_same_v<U, uint32_t>)
    return Element::u32;
  else if constexpr (std::is_same_v<U, int64_t>)
    return Element::i64;
  else
    static_assert(sizeof(T) == 0, "element type unknown to the harness");
}
}  // namespace detail

/// Forgets the contract.
template <class Contract>
Op make_op() {
  Op op;
  op.name = Contract::name;
  for (const char* dim : Contract::dims) op.dims.emplace_back(dim);
  if constexpr (requires { typename Contract::Forward; }) op.forward = Contract::Forward::name;
  if constexpr (requires { Contract::tensors_on_host; }) op.on_host = Contract::tensors_on_host;
  op.valid = [](ShapeView shape) {
    if constexpr (requires { Contract::valid(shape_of<Contract>(shape)); }) {
      return Contract::valid(shape_of<Contract>(shape));
    } else {
      for (const int64_t d : shape)
        if (d < 0) return false;
      return true;
    }
  };
  op.tensors = [](ShapeView shape) {
    std::vector<TensorSpec> list;
    typename Contract::template Args<float> args{};
    args.shape = shape_of<Contract>(shape);
    Contract::tensors(args,
                      [&](std::string_view name, auto& pointer, Role role, Draw draw, const Dims& dims) {
                        using T = std::remove_pointer_t<std::remove_reference_t<decltype(pointer)>>;
                        list.push_back({std::string(name), role, draw, dims, detail::element_of<T>()});
                      });
    return list;
  };
  op.cost = [](ShapeView shape) { return Contract::cost(shape_of<Contract>(shape)); };
  op.terms = [](ShapeView shape) { return Contract::terms(shape_of<Contract>(shape)); };
  if constexpr (requires(typename Contract::template Args<float> a, std::mt19937_64 g) {
                  Contract::arrange(a, g);
                }) {
    op.arrange = [](ShapeView shape, std::span<void* const> pointers, std::mt19937_64& random) {
      Contract::arrange(args_of<Contract, float>(shape, pointers), random);
    };
  }
  op.reference = [](ShapeView shape, std::span<void* const> x, std::span<void* const> magnitude) {
    Contract::reference(args_of<Contract, double>(shape, x), args_of<Contract, double>(shape, magnitude));
  };
  return op;
}

}  // namespace klab
