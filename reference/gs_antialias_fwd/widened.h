// How much a low-pass widens a Gaussian, with running errors; shared by gs_antialias_fwd and gs_antialias_bwd.
#pragma once

#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"
#include "reference/running_error.h"

namespace klab {

struct Widened {
  using Real = RunningError;
  Real along, across;  // 1 - b·xx, 1 - b·yy
  Real slant;          // b·xy
  Real q, factor;
  bool held = false;    // at the least value
  bool unsure = false;  // whether it is held lies within the error of q
};

inline Widened widened(const double* conic, int64_t n, int64_t i) {
  using Real = RunningError;
  const Real b = rounded(GsAntialiasFwd::blur), one = 1;
  Widened w;
  w.along = one - b * Real(conic[i]);
  w.slant = b * Real(conic[n + i]);
  w.across = one - b * Real(conic[2 * n + i]);
  w.q = w.along * w.across - w.slant * w.slant;
  w.held = !(w.q.value > GsAntialiasFwd::least);
  w.unsure = std::abs(w.q.value - GsAntialiasFwd::least) <= 4 * (w.q.error + GsAntialiasFwd::least) * 0x1p-24;
  // Where both sides are possible, the root of either is near the other's: the error of the root covers it.
  w.factor = sqrt(w.held ? Real(GsAntialiasFwd::least, GsAntialiasFwd::least + (w.unsure ? 2 * w.q.error : 0))
                         : w.q);
  return w;
}

}  // namespace klab
