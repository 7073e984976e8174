// What a training step of a field costs by the contracts of its ops, whatever rungs do it.
#pragma once

#include "labs/radiance/run/fields.h"

namespace klab {

struct FieldCounts {
  double flops =
      0;  // a sample: multiplications and additions, and those of the polynomials behind transcendentals
  double bytes = 0;   // a sample: every input read once, every output written once
  double random = 0;  // share of the bytes that is moved entry by entry, at random places of a table
  int64_t width = 0;  // independent elements (samples, rows, Gaussians) of the call with most operations
};

/// Counts all calls of a step, backward and optimizer included, for a scene of one unit cube. A sample is one of batch_samples().
FieldCounts counts_of(const FieldSettings& settings);

}  // namespace klab
