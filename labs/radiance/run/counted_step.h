// The profile of a run on the host executor: counts in place of times, which say nothing there.
#pragma once

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "labs/radiance/run/fields.h"
#include "labs/radiance/train/counting.h"

namespace klab {

/// The step behind the checkpoint, taken once more by a trainer of its own with every access watched. Throws as make_trainer() and
/// FieldTrainer::restore().
StepCounts count_step(const FieldSettings& settings, const Scene& scene, const Plan& plan, uint64_t seed,
                      const BackendChoice& where, const std::filesystem::path& checkpoint);

/// Samples of a batch up to which a watched step is worth its time.
inline constexpr int64_t kMostCounted = 1 << 13;

/// A row for each op: calls, launches, sectors, wavefronts, atomics, the least time that the named GPU needs for it and which limit
/// says so; those that need most first.
void print_counts(FILE* to, const StepCounts& counts);
nlohmann::json counts_json(const StepCounts& counts);

}  // namespace klab
