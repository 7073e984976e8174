// Where the result of a contract turns: the points that some case of a check has to lie on, and on either side of.
//
// Boundaries are part of a contract, in a file of their own, reference/<op>/boundaries.cpp:
//
//   const Boundary<ReluFwd> kKink("kink", {"x"}, {"x > 0"}, kThreeSides, [](const auto& a, Sides& met) {
//     for (int64_t i = 0; i < a.shape.n; ++i) met.compare(a.x[i], 0);
//   });
//   const NoBoundary<ReluFwd> kRest({{"size > 0 ?", "a bound of rounding errors, which no kernel computes"}});
//
// `klab check --boundaries` counts the cases on each side.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reference/contract.h"
#include "reference/generator.h"

namespace klab {

/// A side of a boundary. A value is compared with a point; a condition fails or holds.
enum Side : unsigned { kBelow = 1, kOn = 2, kAbove = 4, kFails = 8, kHolds = 16 };
constexpr unsigned kThreeSides = kBelow | kOn | kAbove, kEither = kFails | kHolds;
constexpr std::array<std::string_view, 5> kSideNames = {"below", "on", "above", "fails", "holds"};

/// The sides that one case lies on: several where it has several elements.
class Sides {
 public:
  template <class T>
  void compare(T value, std::type_identity_t<T> point) {
    if (value < point) met_ |= kBelow;
    if (value == point) met_ |= kOn;
    if (value > point) met_ |= kAbove;
  }
  void holds(bool condition) { met_ |= condition ? kHolds : kFails; }
  unsigned met() const { return met_; }

 private:
  unsigned met_ = 0;
};

/// What the harness knows of a boundary.
struct StatedBoundary {
  std::string_view op;
  std::string name;               // "kink"
  std::vector<std::string> of;    // tensors and dimensions that it concerns
  std::vector<std::string> code;  // of the reference; empty where it compares nothing: a counter's high word
  unsigned sides = kThreeSides;   // those that a check has to meet
  bool answered = false;          // classify() reads results of the reference, too
  /// Classifies one case. Tensors are those of the reference, without outputs unless `answered`.
  void (*classify)(const StatedBoundary&, std::span<const int64_t> shape, std::span<void* const> tensors,
                   Sides& met) = nullptr;
  /// Moves drawn inputs to the boundary; null where usual drawings meet it.
  void (*plant)(const StatedBoundary&, std::span<const int64_t> shape, std::span<void* const> tensors,
                Generator& random) = nullptr;
  void (*typed_classify)() = nullptr, (*typed_plant)() = nullptr;
};

/// Code of a reference that is no boundary of the contract, and why.
struct StatedReason {
  std::string_view op;
  std::string code, reason;
};

/// All boundaries and reasons of this program.
inline std::vector<StatedBoundary>& boundaries() {
  static std::vector<StatedBoundary> list;
  return list;
}
inline std::vector<StatedReason>& no_boundaries() {
  static std::vector<StatedReason> list;
  return list;
}

/// Element of an input, for a function that moves drawn inputs to a boundary.
template <class T>
T& drawn(const T& element) {
  return const_cast<T&>(element);
}

/// States a boundary. `plant`, when given, is called for some cases with wide inputs, after the contract has arranged them.
template <class Contract, bool answered = false>
struct Boundary {
  template <class T>
  using Args = typename Contract::template Args<T>;
  using Classify = void (*)(const Args<double>&, Sides&);
  using Plant = void (*)(const Args<float>&, Generator&);

  Boundary(std::string name, std::vector<std::string> of, std::vector<std::string> code, unsigned sides,
           Classify classify, Plant plant = nullptr) {
    boundaries().push_back({Contract::name, std::move(name), std::move(of), std::move(code), sides, answered,
                            classified, plant == nullptr ? nullptr : planted,
                            reinterpret_cast<void (*)()>(classify), reinterpret_cast<void (*)()>(plant)});
  }

 private:
  template <class T>
  static Args<T> args(std::span<const int64_t> shape, std::span<void* const> tensors) {
    Args<T> args{};
    std::memcpy(static_cast<void*>(&args.shape), shape.data(), sizeof args.shape);  // int64_t fields only
    size_t next = 0;
    Contract::tensors(args, [&](std::string_view, auto& pointer, Role, Draw, const Dims&) {
      pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(tensors[next++]);
    });
    return args;
  }
  static void classified(const StatedBoundary& b, std::span<const int64_t> shape,
                         std::span<void* const> tensors, Sides& met) {
    reinterpret_cast<Classify>(b.typed_classify)(args<double>(shape, tensors), met);
  }
  static void planted(const StatedBoundary& b, std::span<const int64_t> shape, std::span<void* const> tensors,
                      Generator& random) {
    reinterpret_cast<Plant>(b.typed_plant)(args<float>(shape, tensors), random);
  }
};

/// States a boundary of results: the reference runs before classify(), which sees its outputs.
template <class Contract>
using ResultBoundary = Boundary<Contract, true>;

/// States why code of the reference is no boundary.
template <class Contract>
struct NoBoundary {
  struct Line {
    std::string code, reason;
  };
  NoBoundary(std::initializer_list<Line> lines) {
    for (const Line& line : lines) no_boundaries().push_back({Contract::name, line.code, line.reason});
  }
};

/// States the boundaries of a word pair that a generator of random numbers counts with or is keyed by: its high word, and the
/// highest bit of either word.
template <class Contract, const uint32_t* Contract::template Args<double>::*words>
struct CounterWords {
  using Args = typename Contract::template Args<double>;
  /// `sides` of the high word: a counter has both, a key is never small.
  explicit CounterWords(const std::string& name, unsigned sides = kEither) {
    Boundary<Contract>("high word of " + name, {name}, {}, sides,
                       [](const Args& a, Sides& met) { met.holds((a.*words)[1] != 0); });
    Boundary<Contract>("highest bit of the low word of " + name, {name}, {}, kEither,
                       [](const Args& a, Sides& met) { met.holds((a.*words)[0] >> 31 != 0); });
    Boundary<Contract>("highest bit of the high word of " + name, {name}, {}, kEither,
                       [](const Args& a, Sides& met) { met.holds((a.*words)[1] >> 31 != 0); });
  }
};

}  // namespace klab
