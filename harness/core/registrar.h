// Everything that a kernel file needs to register its variant, and nothing else of the harness.
//
//   KLAB_VARIANT(Matmul, {.run = run, .parent = "03_register_tile", .tiles = {6, 16}});
//
// A registered variant takes part in the correctness test, the gradient check, the benchmark, the command
// line and the reports. Its id is its path: kernels/matmul/cpu/04_cache_tile.cpp is matmul.cpu.04_cache_tile.
//
// Every kernel file compiles this header, some of them many times. So work that can be done once in
// register_variant() is not done here: no strings, no std::function, no template beyond the type of `run`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string_view>

#include "reference/contract.h"

/// Instruction sets that this file's vectors are compiled for, as bits of Highway; 0 in a file without vectors. Where a file
/// includes <hwy/highway.h>, Highway's macro of this name replaces it in KLAB_VARIANT.
#ifndef HWY_TARGETS
inline constexpr int64_t HWY_TARGETS = 0;
#endif

namespace klab {

/// Instruction sets of one file's vectors, in a section that the program reads before it runs any other code
/// (harness/core/instruction_sets.h).
struct VectorCode {
  int64_t targets;
  int64_t fixed;  // not 0: compiled with -march for one of them, without a choice at run time
};

/// A type-erased shape: the fields of Shape in order.
using ShapeView = std::span<const int64_t>;

/// The coarsest arithmetic in a variant, whose unit roundoff scales the tolerance: that of its sums or, if
/// factors have fewer bits than sums, that of the factors. For e4m3 and e5m2 it is always the factors', since
/// their sums must be at least float.
enum class Unit { f64, f32, bf16, f16, e4m3, e5m2 };

/// Returns the bits of one factor of that arithmetic, which determine the rates of vectors and tensor cores.
constexpr int bits_of(Unit unit) {
  if (unit == Unit::f64) return 64;
  if (unit == Unit::f32) return 32;
  return unit == Unit::bf16 || unit == Unit::f16 ? 16 : 8;
}

/// How rounding errors of K terms may grow on random inputs. On hard inputs the proven bound, K, always
/// applies.
enum class Growth {
  sqrt,    // errors that behave like random walks: any reasonable order of summation
  linear,  // only the proven bound K·u
};

struct Numerics {
  Unit unit = Unit::f32;
  Growth growth = Growth::sqrt;
  bool deterministic = true;  // false: two runs may differ (atomics), within twice the bound
};

/// The properties of the machine that a variant may use to decide whether it can run.
struct Host {
  int threads = 1;
  bool gpu = false;            // a CUDA device is present and usable
  int compute_capability = 0;  // 90 for sm_90; 0 without a device
};

/// A prediction made before measuring: at this shape, the variant is at least this much faster than its
/// parent.
struct Claimed {
  std::initializer_list<int64_t> shape;  // {}: no claim
  double over_parent = 1.0;
};

/// The one size at which a rung pays although it is no faster than its parent at the tour's size, and the
/// reason: .when = {{4099, 4001}, "rows that begin at odd addresses"}. Such a rung is a branch of its ladder;
/// the others are the trunk that a learner climbs. The size must be one that the lab times.
struct PaysAt {
  std::initializer_list<int64_t> shape;  // {}: the rung is part of the trunk
  std::string_view because;
};

/// The description of a variant in its kernel file. Valid only within the statement that contains it.
template <class Contract>
struct VariantSpec {
  using Args = typename Contract::template Args<float>;
  using Shape = typename Contract::Shape;

  void (*run)(const Args&) = nullptr;
  // rung that this one was derived from, for example "03_register_tile"; empty for the first
  std::string_view parent;
  /// For backward ops: the rung of the forward op that it belongs to; empty: the forward's naive rung.
  std::string_view forward;
  Numerics numerics;
  /// Internal block sizes. The check adds sizes one below, at and one above each.
  std::initializer_list<int64_t> tiles;
  /// The contract's optional tensors that it reads. The others are null pointers.
  std::initializer_list<const char*> needs;
  Claimed expect;
  PaysAt when;  // only for branches
  /// Former names of this rung, including rungs that were merged into it, latest last: "07_carry", or the
  /// whole id if it belonged to another op. Commands, plans and recorded rows still accept these names.
  std::initializer_list<std::string_view> was;
  bool peer = false;    // a vendor baseline: timed with the rungs, but not a step of the ladder
  bool pinned = false;  // for ops whose tensors stay on the host: this variant's are in page-locked memory
  /// Returns an empty string if it can run, else the reason, as the end of "skipped: ...".
  std::string (*supported)(const Shape&, const Host&) = nullptr;
};

/// How this file is being compiled.
enum class Form { cpu, cpu_watched, host, host_traced, device };
#if defined(KLAB_SIMT_TRACED)
inline constexpr Form this_form = Form::host_traced;
#elif defined(KLAB_SIMT)
inline constexpr Form this_form = Form::host;
#elif defined(__CUDACC__)
inline constexpr Form this_form = Form::device;
#elif defined(KLAB_CPU_WATCHED)
inline constexpr Form this_form = Form::cpu_watched;
#else
inline constexpr Form this_form = Form::cpu;
#endif

/// A function whose type only its contract's op knows (Op::bind, Op::supported).
using Untyped = void (*)();

/// A type-erased description of a variant.
struct Registration {
  const char* file = "";
  int line = 0;
  Form form = Form::cpu;
  std::string_view contract;          // name of the op
  std::string_view forward_contract;  // for a backward op: name of its forward op
  Untyped run = nullptr, supported = nullptr;
  std::string_view parent, forward;
  Numerics numerics;
  std::initializer_list<int64_t> tiles;
  std::initializer_list<const char*> needs;
  std::span<const char* const> optional;  // from the contract: names that `needs` may use
  Claimed expect;
  PaysAt when;
  std::initializer_list<std::string_view> was;
  bool peer = false, pinned = false;
  int64_t targets = 0;  // instruction sets of its vectors
};

/// Adds to the registry. Another form of a CUDA variant is merged with the first. The program ends with a
/// message that names the files if two variants have one id, if a former name is the present or former name
/// of another variant, if a file's folder does not match its contract, or if `needs` lists a tensor that the
/// contract does not call optional.
void register_variant(const Registration& registration);

template <class Contract, Form form = this_form>
struct Registrar {
  Registrar(const char* file, int line, const VariantSpec<Contract>& s, int64_t targets = 0) {
    std::string_view forward;
    if constexpr (requires { typename Contract::Forward; }) forward = Contract::Forward::name;
    std::span<const char* const> optional;
    if constexpr (requires { Contract::optional; }) optional = Contract::optional;
    register_variant({file, line, form, Contract::name, forward, reinterpret_cast<Untyped>(s.run),
                      reinterpret_cast<Untyped>(s.supported), s.parent, s.forward, s.numerics, s.tiles,
                      s.needs, optional, s.expect, s.when, s.was, s.peer, s.pinned, targets});
  }
};

}  // namespace klab

#ifdef HWY_COMPILE_ONLY_STATIC
#define KLAB_FIXED_VECTORS 1
#else
#define KLAB_FIXED_VECTORS 0
#endif

/// States for which instruction sets this file's vectors are compiled. Is part of KLAB_VARIANT; a file with vectors and without a
/// variant states it by itself, behind its includes.
#if defined(KLAB_SIMT) || defined(__CUDACC__)
#define KLAB_VECTOR_CODE(name) static_assert(HWY_TARGETS == 0, "CUDA files take no vectors of Highway")
#else
#define KLAB_VECTOR_CODE(name)                                                                        \
  [[gnu::used, gnu::section("klab_vectors")]] static const ::klab::VectorCode klab_vectors_##name = { \
      HWY_TARGETS, KLAB_FIXED_VECTORS}
#endif

/// The last statement of a kernel file.
#define KLAB_VARIANT(Contract, ...) \
  KLAB_VECTOR_CODE(Contract);       \
  const ::klab::Registrar<Contract> klab_registrar_##Contract(__FILE__, __LINE__, __VA_ARGS__, HWY_TARGETS)
