// window_sum.cpu.02_running_sum: two running sums that leave a hinge, one to each side.
//
// CHANGE    outputs are taken in groups as long as a window. All windows of a group share one element, the
//           hinge; each is a running sum up to the hinge plus one from there on. Three additions an output at
//           any radius.
// EXPECT    about (2r+1)/2 times the parent at large r: an addition's latency for each of the two walks in
//           place of one for each element of the window. At r = 1 no gain.
// NUMERICS  sums of at most 2r+1 terms that all lie in the window: the bound of the direct sum.
// TRIED     see NOTES.md, cpu.02_running_sum
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/window_sum/window_sum.h"

namespace klab {
namespace {

//   first-r .. i-r ......... hinge = first+r .......... i+r        window of output i
//              [ y[i] of the walk down ][ of the walk up  ]
void group(const float* x, float* y, int64_t n, int64_t r, int64_t first) {
  const int64_t past = first + 2 * r + 1, end = std::min(past, n);
  float sum = 0;
  int64_t i = std::min(past, n + r) - 1;
  for (; i >= end; --i) sum += x[i - r];  // outputs that do not exist, elements that do
  for (; i >= std::max(first, r); --i) {
    sum += x[i - r];
    y[i] = sum;
  }
  for (; i >= first; --i) y[i] = sum;  // windows that begin before x
  sum = 0;
  for (i = first + 1; i < std::min(end, n - r); ++i) {
    sum += x[i + r];
    y[i] += sum;
  }
  for (; i < end; ++i) y[i] += sum;  // windows that end behind x
}

void run(const WindowSum::Args<float>& x) {
  const int64_t n = x.shape.n, r = std::min(x.shape.r, n);  // beyond n, a window holds everything
  for (int64_t first = 0; first < n; first += 2 * r + 1) group(x.x, x.y, n, r, first);
}

KLAB_VARIANT(WindowSum,
             {.run = run, .parent = "01_direct", .expect = {.shape = {65536, 100}, .over_parent = 30}});

}  // namespace
}  // namespace klab
