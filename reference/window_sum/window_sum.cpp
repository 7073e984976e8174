#include "reference/window_sum/window_sum.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {
namespace {

// Sums over windows of 2r+1 elements of value(j), j = 0 .. n-1, in a time that does not depend on r. Outputs
// are taken in groups as long as a window. All windows of the group at `first` contain its hinge:
//
//   first-r .. i-r ......... hinge = first+r .......... i+r        window of output i
//              [ behind[i]          ][ ahead[i]           ]
//
// Both parts are running sums that leave the hinge, one to each side. Nothing is ever subtracted, so elements
// outside a window have no part in its rounding errors.
template <class Value>
void sums(int64_t n, int64_t r, const Value& value, double* y) {
  r = std::min(r, n);  // beyond, a window holds everything
  const int64_t window = 2 * r + 1;
  const auto x = [&](int64_t j) { return j >= 0 && j < n ? value(j) : 0.0; };
  for (int64_t first = 0; first < n; first += window) {
    const int64_t end = std::min(first + window, n);
    double behind = 0, ahead = 0;
    for (int64_t i = first + window - 1; i >= first; --i) {
      behind += x(i - r);
      if (i < end) y[i] = behind;
    }
    for (int64_t i = first + 1; i < end; ++i) {
      ahead += x(i + r);
      y[i] += ahead;
    }
  }
}

}  // namespace

void WindowSum::arrange(const Args<float>& x, Generator& random) {
  const auto [n, r] = x.shape;
  float most = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(x.x[i]));
  if (most < 1e20F) return;
  auto* values = const_cast<float*>(x.x);
  const uint64_t one_in = 4 * (2 * uint64_t(std::min(r, n)) + 1);
  for (int64_t i = 0; i < n; ++i)
    if (random() % one_in != 0) values[i] /= most;
}

void WindowSum::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, r] = x.shape;
  sums(
      n, r, [&](int64_t j) { return x.x[j]; }, x.y);
  sums(
      n, r, [&](int64_t j) { return std::abs(x.x[j]); }, magnitude.y);
}

}  // namespace klab
