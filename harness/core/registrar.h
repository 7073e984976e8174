// What a kernel file needs to register its variant, and nothing else of the harness.
//
//   KLAB_VARIANT(Matmul, {.run = run, .parent = "03_register_tile", .tiles = {6, 16}});
//
// Being registered enrols the variant in the correctness test, the gradient check, the benchmark, the command
// line and the reports. Its id is its path: kernels/matmul/cpu/04_cache_tile.cpp is matmul.cpu.04_cache_tile.
//
// Every kernel file compiles this header, some of them many times over. What can be done once, behind
// register_variant(), is not done here: no strings, no std::function, no template beyond the type of `run`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string_view>

#include "reference/contract.h"

namespace klab {

/// A shape with its contract forgotten: the fields of Shape in order.
using ShapeView = std::span<const int64_t>;

/// The coarsest arithmetic in a variant, whose unit roundoff scales the tolerance: that which it accumulates in or, where factors
/// have fewer bits than sums, that of the factors. With e4m3 and e5m2 it is always the factors': their sums are held to float.
enum class Unit { f64, f32, bf16, f16, e4m3, e5m2 };

/// Bits of one factor of such arithmetic, which the rates of vectors and of tensor cores go by.
constexpr int bits_of(Unit unit) {
  if (unit == Unit::f64) return 64;
  if (unit == Unit::f32) return 32;
  return unit == Unit::bf16 || unit == Unit::f16 ? 16 : 8;
}

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
struct Claimed {
  std::initializer_list<int64_t> shape;  // {}: no claim
  double over_parent = 1.0;
};

/// The one size at which a rung pays that is no faster than its parent at the size of the tour, and why there:
/// .when = {{4099, 4001}, "rows that begin at odd addresses"}. A rung that says so is a branch of its ladder, the others
/// are the trunk that a learner climbs. The size is one that the lab times.
struct PaysAt {
  std::initializer_list<int64_t> shape;  // {}: a rung of the trunk
  std::string_view because;
};

/// What a kernel file says of its variant. Lives as long as the statement it stands in.
template <class Contract>
struct VariantSpec {
  using Args = typename Contract::template Args<float>;
  using Shape = typename Contract::Shape;

  void (*run)(const Args&) = nullptr;
  std::string_view parent;  // rung this one was made from, e.g. "03_register_tile"; empty for the first
  /// Backward ops: rung of the forward it belongs to; empty: the forward's naive rung.
  std::string_view forward;
  Numerics numerics;
  /// Block sizes inside; the check adds sizes one below, at and above each.
  std::initializer_list<int64_t> tiles;
  /// Which of the contract's optional tensors it reads. The others are null pointers.
  std::initializer_list<const char*> needs;
  Claimed expect;
  PaysAt when;  // branches only
  /// What this rung was called before, rungs that are now part of it among them, the latest name last: "07_carry", or the
  /// whole id where it was another op's. Commands, plans and recorded rows still take these names.
  std::initializer_list<std::string_view> was;
  bool peer = false;    // a vendor baseline: timed beside the rungs, no step of the ladder
  bool pinned = false;  // ops whose tensors stay on the host: this variant's lie in page-locked memory
  /// Empty when it can run, else the reason why not, as the end of "skipped: ...".
  std::string (*supported)(const Shape&, const Host&) = nullptr;
};

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

/// A function whose type only its contract's op knows (Op::bind, Op::supported).
using Untyped = void (*)();

/// What a kernel file says, its contract forgotten.
struct Registration {
  const char* file = "";
  int line = 0;
  Form form = Form::cpu;
  std::string_view contract;          // the op's name
  std::string_view forward_contract;  // of a backward: its forward op's name
  Untyped run = nullptr, supported = nullptr;
  std::string_view parent, forward;
  Numerics numerics;
  std::initializer_list<int64_t> tiles;
  std::initializer_list<const char*> needs;
  std::span<const char* const> optional;  // the contract's: what `needs` may name
  Claimed expect;
  PaysAt when;
  std::initializer_list<std::string_view> was;
  bool peer = false, pinned = false;
};

/// Adds to the registry. Another form of a CUDA variant joins the first. A second variant of an id, a former name that is
/// another variant's name or former name, a file whose folder is not that of its contract, or a need of a tensor that the
/// contract does not call optional ends the program, naming the files.
void register_variant(const Registration& registration);

template <class Contract, Form form = this_form>
struct Registrar {
  Registrar(const char* file, int line, const VariantSpec<Contract>& s) {
    std::string_view forward;
    if constexpr (requires { typename Contract::Forward; }) forward = Contract::Forward::name;
    std::span<const char* const> optional;
    if constexpr (requires { Contract::optional; }) optional = Contract::optional;
    register_variant({file, line, form, Contract::name, forward, reinterpret_cast<Untyped>(s.run),
                      reinterpret_cast<Untyped>(s.supported), s.parent, s.forward, s.numerics, s.tiles,
                      s.needs, optional, s.expect, s.when, s.was, s.peer, s.pinned});
  }
};

}  // namespace klab

/// The last statement of a kernel file.
#define KLAB_VARIANT(Contract, ...) \
  const ::klab::Registrar<Contract> klab_registrar_##Contract(__FILE__, __LINE__, __VA_ARGS__)
