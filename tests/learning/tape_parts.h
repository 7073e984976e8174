// Shared parts of forwards on a tape: squares and roots, rows repeated, rows normalized.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "labs/learning/gradients/worked.h"

namespace klab::gradients {

inline Tape::Value constant_like(Tape& t, Tape::Value a, double c) {
  return t.input(t.dims(a), std::vector<double>(t.data(a).size(), c));
}
inline Tape::Value square(Tape& t, Tape::Value a) { return t.multiply(a, a); }
inline Tape::Value root(Tape& t, Tape::Value a) {
  return t.map(
      a, [](double x) { return std::sqrt(x); }, [](double, double y) { return 0.5 / y; });
}
/// One row, repeated n times.
inline Tape::Value rows_of(Tape& t, Tape::Value row, int64_t n) {
  const int64_t c = elements(t.dims(row));
  std::vector<int64_t> from;
  for (int64_t i = 0; i < n * c; ++i) from.push_back(i % c);
  return t.gather(row, {n, c}, from);
}
/// (x - mean)/sqrt(variance + epsilon) of each row.
inline Tape::Value normalized(Tape& t, Tape::Value x, double epsilon, bool centered) {
  const Dims dims = t.dims(x);
  const double c = double(dims[1]);
  if (centered) x = t.subtract(x, t.broadcast(t.scale(t.sum(x), 1 / c), dims));
  const Tape::Value variance = t.scale(t.sum(square(t, x)), 1 / c);
  return t.divide(x, t.broadcast(root(t, t.add(variance, constant_like(t, variance, epsilon))), dims));
}

}  // namespace klab::gradients
