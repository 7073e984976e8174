// Small contracts the checker is tested with: a product of matrices, and its backward.
#pragma once

#include <algorithm>

#include "reference/contract.h"

namespace klab {

struct ProbeMatmul {
  static constexpr std::string_view name = "probe_matmul";
  static constexpr std::array dims = {"m", "n", "k"};
  struct Shape {
    int64_t m, n, k;
  };
  template <class T>
  struct Args {
    Shape shape;
    const T* a;  // [m,k] f32
    const T* b;  // [k,n] f32
    T* c;        // [m,n] f32, written (=)
  };
  static void tensors(auto& x, auto&& visit) {
    const auto [m, n, k] = x.shape;
    visit("a", x.a, Role::input, Draw::real, {m, k});
    visit("b", x.b, Role::input, Draw::real, {k, n});
    visit("c", x.c, Role::output, Draw::real, {m, n});
  }
  static Cost cost(const Shape& s) {
    return {4.0 * double(s.m * s.k + s.k * s.n + s.m * s.n), 2.0 * double(s.m * s.n * s.k)};
  }
  static double terms(const Shape& s) { return double(s.k); }
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

struct ProbeMatmulBwd {
  using Forward = ProbeMatmul;
  static constexpr std::string_view name = "probe_matmul_bwd";
  static constexpr std::array dims = {"m", "n", "k"};
  using Shape = ProbeMatmul::Shape;
  template <class T>
  struct Args {
    Shape shape;
    const T* a;    // [m,k] f32
    const T* b;    // [k,n] f32
    const T* d_c;  // [m,n] f32
    T* d_a;        // [m,k] f32, written (=)
    T* d_b;        // [k,n] f32, written (=)
  };
  static void tensors(auto& x, auto&& visit) {
    const auto [m, n, k] = x.shape;
    visit("a", x.a, Role::input, Draw::real, {m, k});
    visit("b", x.b, Role::input, Draw::real, {k, n});
    visit("d_c", x.d_c, Role::input, Draw::real, {m, n});
    visit("d_a", x.d_a, Role::output, Draw::real, {m, k});
    visit("d_b", x.d_b, Role::output, Draw::real, {k, n});
  }
  static Cost cost(const Shape& s) {
    return {4.0 * double(2 * s.m * s.k + 2 * s.k * s.n + s.m * s.n), 4.0 * double(s.m * s.n * s.k)};
  }
  static double terms(const Shape& s) { return double(std::max(s.m, s.n)); }
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
