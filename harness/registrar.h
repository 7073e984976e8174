// What a kernel file needs to register its variant, and nothing else of the harness.
//
//   KLAB_VARIANT(Matmul, {.run = run, .parent = "03_register_tile", .tiles = {6, 16}});
//
// Being registered enrols the variant in the correctness test, the gradient check, the benchmark, the command
// line and the reports. Its id is its path: kernels/matmul/cpu/04_cache_tile.cpp is matmul.cpu.04_cache_tile.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/contract.h"

namespace klab {

/// A shape with its contract forgotten: the fields of Shape in order.
using ShapeView = std::span<const int64_t>;

/// The arithmetic a variant accumulates in; its unit roundoff scales the tolerance.
enum class Unit { f64, f32, bf16, f16 };

/// How rounding errors of K terms are allowed to grow on random inputs. Inputs made to be hard are always
/// held to the proven bound, K.
enum class Growth {
  sqrt,    // errors that behave as random walks: any reasonable order of summation
  linear,  // the proven bound K·u only
};

struct Numerics {
  Unit unit = Unit::f32;
  Growth growth = Growth::sqrt;
  bool deterministic = true;  // false: two runs may differ (atomics), within twice the bound
};

/// What a variant may ask about the machine before it says that it can run.
struct Host {
  int threads = 1;
  bool gpu = false;            // a CUDA device is present and usable
  int compute_capability = 0;  // 90 for sm_90; 0 without a device
};

/// A prediction, written before measuring: at this shape, at least this much faster than the parent.
/// Reports print what came of it; a shape of {} makes no claim.
struct Expect {
  std::vector<int64_t> shape;
  double over_parent = 1.0;
};

/// What a kernel file says of its variant.
template <class Contract>
struct VariantSpec {
  using Args = typename Contract::template Args<float>;
  using Shape = typename Contract::Shape;

  void (*run)(const Args&) = nullptr;
  std::string parent;   // rung this one was made from, e.g. "03_register_tile"; empty for the first
  std::string forward;  // backward ops: rung of the forward it belongs to; empty: the forward's naive rung
  Numerics numerics;    //
  std::vector<int64_t> tiles;  // block sizes inside; the check adds sizes one below, at and above each
  Expect expect;
  bool peer = false;    // somebody else's library, raced but not taught
  bool pinned = false;  // ops whose tensors stay on the host: this variant's lie in page-locked memory
  /// Empty when it can run, else the reason why not, as the end of "skipped: ...".
  std::string (*supported)(const Shape&, const Host&) = nullptr;
};

/// A variant with its contract forgotten.
struct Variant {
  std::string id;       // matmul.cpu.04_cache_tile
  std::string op;       // matmul
  std::string backend;  // cpu | cuda
  std::string rung;     // 04_cache_tile
  std::string file;     // as the compiler was given it
  int line = 0;
  std::string parent;   // id, or empty
  std::string forward;  // id, or empty
  Numerics numerics;
  std::vector<int64_t> tiles;
  Expect expect;
  bool peer = false;
  bool pinned = false;
  std::function<std::string(ShapeView, const Host&)> supported;
  /// Ties shape and pointers (in the contract's order) into something to call. The pointers must outlive it.
  using Bind = std::function<std::function<void()>(ShapeView, std::span<void* const>)>;
  Bind bind;  // pointers of the host
  /// CUDA variants: the forms the file was compiled in, each called with pointers of its device. The host executor
  /// (harness/simt) has two, one of them with every access watched; then there is the GPU.
  Bind host, host_traced, device;
};

/// Adds to the registry. Another form of a CUDA variant joins the first; any other second variant of an id ends the
/// program, naming both files.
void register_variant(Variant variant);

/// Fills op, backend, rung and id from a path ".../<op>/<backend>/<rung>.<ext>". Throws std::invalid_argument
/// when the path has no such form.
void name_from_path(Variant& variant, const std::string& path);

/// Shape struct <-> list of integers. A contract's Shape holds int64_t fields only.
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

/// Args<T> whose pointers, in the order of Contract::tensors, are the given ones.
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

/// How this file is being compiled.
enum class Form { cpu, host, host_traced, device };
#if defined(KLAB_SIMT_TRACED)
inline constexpr Form this_form = Form::host_traced;
#elif defined(KLAB_SIMT)
inline constexpr Form this_form = Form::host;
#elif defined(__CUDACC__)
inline constexpr Form this_form = Form::device;
#else
inline constexpr Form this_form = Form::cpu;
#endif

template <class Contract, Form form = this_form>
class Registrar {
 public:
  Registrar(const char* file, int line, VariantSpec<Contract> spec) {
    Variant v;
    v.file = file;
    v.line = line;
    name_from_path(v, file);
    const std::string ladder = v.op + "." + v.backend + ".";
    if (!spec.parent.empty()) v.parent = ladder + spec.parent;
    if constexpr (requires { typename Contract::Forward; }) {
      if (!spec.forward.empty())
        v.forward = std::string(Contract::Forward::name) + "." + v.backend + "." + spec.forward;
    }
    v.numerics = spec.numerics;
    v.tiles = std::move(spec.tiles);
    v.expect = std::move(spec.expect);
    v.peer = spec.peer;
    v.pinned = spec.pinned;
    v.supported = [f = spec.supported](ShapeView shape, const Host& host) {
      return f ? f(shape_of<Contract>(shape), host) : std::string();
    };
    Variant::Bind Variant::*slot = form == Form::cpu           ? &Variant::bind
                                   : form == Form::host        ? &Variant::host
                                   : form == Form::host_traced ? &Variant::host_traced
                                                               : &Variant::device;
    v.*slot = [run = spec.run](ShapeView shape, std::span<void* const> pointers) -> std::function<void()> {
      return [run, args = args_of<Contract, float>(shape, pointers)] { run(args); };
    };
    register_variant(std::move(v));
  }
};

}  // namespace klab

/// The last statement of a kernel file.
#define KLAB_VARIANT(Contract, ...) \
  const ::klab::Registrar<Contract> klab_registrar_##Contract(__FILE__, __LINE__, __VA_ARGS__)
