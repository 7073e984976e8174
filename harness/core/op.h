// A type-erased operation, so that check, gradient check and benchmark are written once.
#pragma once

#include <bit>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/core/variant.h"
#include "reference/contract.h"
#include "reference/float16.h"

namespace klab {

/// Element types that a contract's pointers may have.
enum class Element { f32, f64, f16, bf16, i8, u8, i32, u32, i64 };

int64_t size_of(Element element);  // bytes

struct TensorSpec {
  std::string name;
  Role role = Role::input;
  Draw draw = Draw::real;
  Dims dims;
  Element element = Element::f32;  // as seen by variants; for f32 the reference sees f64
  bool optional = false;           // null for variants that do not need it
};

struct Op {
  std::string name;
  std::vector<std::string> dims;
  std::string forward;       // name of the forward op if this is a backward op, else empty
  bool on_host = false;      // CUDA variants get tensors in host memory
  bool zeros_alike = false;  // for outputs: 0 and -0 are equal
  std::function<bool(ShapeView)> valid;
  std::function<std::vector<TensorSpec>(ShapeView)> tensors;
  std::function<Cost(ShapeView)> cost;
  std::function<double(ShapeView)> terms;
  /// Rewrites the float inputs; empty if the contract has no rule for them.
  std::function<void(ShapeView, std::span<void* const>, Generator&)> arrange;
  /// The double-precision reference. `x` and `magnitude` are pointers in the contract's order, to f64 where
  /// variants see f32.
  std::function<void(ShapeView, std::span<void* const> x, std::span<void* const> magnitude)> reference;
  /// Binds a variant's `run` (VariantSpec<Contract>::run), a shape and pointers in the contract's order to a
  /// callable. The pointers must outlive it.
  std::function<std::function<void()>(Untyped run, ShapeView, std::span<void* const>)> bind;
  /// Calls a variant's `supported`.
  std::function<std::string(Untyped supported, ShapeView, const Host&)> supported;
};

/// Converts a list of integers to a Shape struct. A contract's Shape has only int64_t fields.
template <class Contract>
typename Contract::Shape shape_of(ShapeView view) {
  using Shape = typename Contract::Shape;
  static_assert(
      sizeof(Shape) == sizeof(int64_t) * std::tuple_size_v<std::remove_cv_t<decltype(Contract::dims)>>,
      "Shape must have one int64_t field per name in dims");
  std::array<int64_t, sizeof(Shape) / sizeof(int64_t)> values{};
  for (size_t i = 0; i < values.size() && i < view.size(); ++i) values[i] = view[i];
  return std::bit_cast<Shape>(values);
}

/// Returns Args<T> with the given pointers, in the order of Contract::tensors.
template <class Contract, class T>
typename Contract::template Args<T> args_of(ShapeView shape, std::span<void* const> pointers) {
  typename Contract::template Args<T> args{};
  args.shape = shape_of<Contract>(shape);
  size_t next = 0;
  Contract::tensors(args, [&](std::string_view, auto& pointer, Role, Draw, const Dims&) {
    using Pointer = std::remove_reference_t<decltype(pointer)>;
    pointer = static_cast<Pointer>(pointers[next++]);
  });
  return args;
}

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
    return Element::f16;  // half precision is passed as its bits
  else if constexpr (std::is_same_v<U, Bfloat16>)
    return Element::bf16;
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

/// Returns whether the tensor is optional: only variants that list it in `needs` read it.
template <class Contract>
bool is_optional([[maybe_unused]] std::string_view tensor) {
  if constexpr (requires { Contract::optional; })
    for (const char* name : Contract::optional)
      if (tensor == name) return true;
  return false;
}

/// Type-erases the contract.
template <class Contract>
Op make_op() {
  Op op;
  op.name = Contract::name;
  for (const char* dim : Contract::dims) op.dims.emplace_back(dim);
  if constexpr (requires { typename Contract::Forward; }) op.forward = Contract::Forward::name;
  if constexpr (requires { Contract::tensors_on_host; }) op.on_host = Contract::tensors_on_host;
  if constexpr (requires { Contract::zeros_alike; }) op.zeros_alike = Contract::zeros_alike;
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
    Contract::tensors(
        args, [&](std::string_view name, auto& pointer, Role role, Draw draw, const Dims& dims) {
          using T = std::remove_pointer_t<std::remove_reference_t<decltype(pointer)>>;
          list.push_back(
              {std::string(name), role, draw, dims, detail::element_of<T>(), is_optional<Contract>(name)});
        });
    return list;
  };
  op.cost = [](ShapeView shape) { return Contract::cost(shape_of<Contract>(shape)); };
  op.terms = [](ShapeView shape) { return Contract::terms(shape_of<Contract>(shape)); };
  if constexpr (requires(typename Contract::template Args<float> a, Generator & g) {
                  Contract::arrange(a, g);
                }) {
    op.arrange = [](ShapeView shape, std::span<void* const> pointers, Generator& random) {
      Contract::arrange(args_of<Contract, float>(shape, pointers), random);
    };
  }
  op.reference = [](ShapeView shape, std::span<void* const> x, std::span<void* const> magnitude) {
    Contract::reference(args_of<Contract, double>(shape, x), args_of<Contract, double>(shape, magnitude));
  };
  using Spec = VariantSpec<Contract>;
  op.bind = [](Untyped run, ShapeView shape, std::span<void* const> pointers) -> std::function<void()> {
    return [run = reinterpret_cast<decltype(Spec::run)>(run),
            args = args_of<Contract, float>(shape, pointers)] { run(args); };
  };
  op.supported = [](Untyped supported, ShapeView shape, const Host& host) {
    return reinterpret_cast<decltype(Spec::supported)>(supported)(shape_of<Contract>(shape), host);
  };
  return op;
}

}  // namespace klab
