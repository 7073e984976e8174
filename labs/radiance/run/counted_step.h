// Profile of a run on the host executor: counts instead of times, because its times mean nothing.
#pragma once

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "labs/radiance/run/fields.h"
#include "labs/radiance/train/counting.h"

namespace klab {

/// Repeats the step after the checkpoint in a separate trainer, with every access watched. Throws like
/// make_trainer() and FieldTrainer::restore().
StepCounts count_step(const FieldSettings& settings, const Scene& scene, const Plan& plan, uint64_t seed,
                      const BackendChoice& where, const std::filesystem::path& checkpoint);

/// Largest batch for which watching a step is worth its time, samples.
inline constexpr int64_t kMostCounted = 1 << 13;

/// Prints a row for each op: calls, launches, sectors, wavefronts, atomics, the least time on the named GPU
/// and the limit that sets it; the longest first.
void print_counts(FILE* to, const StepCounts& counts);
nlohmann::json counts_json(const StepCounts& counts);

}  // namespace klab
