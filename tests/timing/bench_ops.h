// Two small ops and variants of them, made of lambdas, for the tests of the benchmark; and a clock that calls move.
#pragma once

#include <functional>

#include "harness/core/variant.h"
#include "harness/timing/bench.h"

namespace klab {

/// c = 2a. `d` is there to have a tensor that is added to: d += a.
struct Twice {
  static constexpr std::string_view name = "twice";
  static constexpr std::array dims = {"n"};
  struct Shape {
    int64_t n;
  };
  template <class T>
  struct Args {
    Shape shape;
    const T* a;
    T* c;
    T* d;
  };
  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("a", args.a, Role::input, Draw::real, {n});
    visit("c", args.c, Role::output, Draw::real, {n});
    visit("d", args.d, Role::accumulate, Draw::real, {n});
  }
  static bool valid(const Shape& s) { return s.n >= 1; }
  static Cost cost(const Shape& s) { return {20.0 * double(s.n), 2 * double(s.n)}; }
  static double terms(const Shape&) { return 1; }
  static void reference(const Args<double>& x, const Args<double>& m) {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      x.c[i] = 2 * x.a[i];
      m.c[i] = 2 * std::abs(x.a[i]);
      m.d[i] = std::abs(x.d[i]) + std::abs(x.a[i]);
      x.d[i] += x.a[i];
    }
  }
};

/// The same without the accumulated tensor.
struct Only {
  static constexpr std::string_view name = "only";
  static constexpr std::array dims = {"n"};
  using Shape = Twice::Shape;
  template <class T>
  struct Args {
    Shape shape;
    const T* a;
    T* c;
  };
  static void tensors(auto& args, auto&& visit) {
    visit("a", args.a, Role::input, Draw::real, {args.shape.n});
    visit("c", args.c, Role::output, Draw::real, {args.shape.n});
  }
  static bool valid(const Shape& s) { return s.n >= 1; }
  static Cost cost(const Shape& s) { return {8.0 * double(s.n), double(s.n)}; }
  static double terms(const Shape&) { return 1; }
  static void reference(const Args<double>& x, const Args<double>& m) {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      x.c[i] = 2 * x.a[i];
      m.c[i] = 2 * std::abs(x.a[i]);
    }
  }
};

using TwiceRun = std::function<void(const Twice::Args<float>&)>;
using OnlyRun = std::function<void(const Only::Args<float>&)>;

inline void right(const Twice::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.c[i] = 2 * x.a[i];
    x.d[i] += x.a[i];
  }
}
inline void right(const Only::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = 2 * x.a[i];
}

template <class Contract, class Run>
Variant variant(const std::string& rung, Run run) {
  Variant v;
  v.op = Contract::name;
  v.backend = "cpu";
  v.rung = rung;
  v.id = v.op + ".cpu." + rung;
  v.supported = [](ShapeView, const Host&) { return std::string(); };
  v.bind = [run](ShapeView shape, std::span<void* const> pointers) -> std::function<void()> {
    return [run, args = args_of<Contract, float>(shape, pointers)] { run(args); };
  };
  return v;
}

template <class Contract>
LabOp lab_op() {
  LabOp op;
  op.op = make_op<Contract>();
  op.check = {{1, 2, 3}};
  return op;
}

inline BenchOptions quick_options() {
  BenchOptions o;
  o.rounds = 4;
  o.sample_seconds = 0.0005;
  return o;
}

inline Ladder time_one(const Variant& v, const BenchOptions& options = quick_options()) {
  const Variant* list[] = {&v};
  return bench(lab_op<Only>(), {.name = "small", .shape = {100}}, list, options);
}

/// A clock that only calls advance.
struct FakeClock {
  double seconds = 1e4;
  BenchOptions options() {
    BenchOptions o = quick_options();
    o.now = [this] { return seconds; };
    return o;
  }
};

}  // namespace klab
