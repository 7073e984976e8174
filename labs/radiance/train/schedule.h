// What changes on schedule while the hash field is trained: its learning rate, and the levels of the table that learn.
#pragma once

#include <cstdint>

#include "labs/radiance/field/config.h"

namespace klab {

/// Returns the learning rate of a step at that share of the run.
double scheduled_rate(const Config& config, int64_t step, double progress);

/// Returns how many of the finest levels of the table do not learn at that share of the run.
int64_t closed_levels_at(const Config& config, double progress);

}  // namespace klab
