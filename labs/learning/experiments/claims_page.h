// The page of claims (docs/claims.md) and the tables of claims in lessons, made from records.
#pragma once

#include <span>
#include <string>

#include "labs/learning/experiments/recording.h"

namespace klab::learning {

/// Returns what decides a claim: "held", "refuted", "depends on the seed: 0.93 with seed 1; 1.1 with seed 3", or why nothing does.
std::string verdict_text(const Standing& s);
/// Returns the metric with its interval: "dB lost: 0.02 to 0.11".
std::string measured_text(const Standing& s);
/// Returns how it was measured: "3 seeds, AMD EPYC, 2026-11-27".
std::string how_text(const Standing& s);

/// Returns docs/claims.md.
std::string claims_page(std::span<const Standing> all);

/// Returns a lesson with the tables of claims between its lines `<!-- claims: NAME... -->` and `<!-- end of claims -->` made from
/// the standings. Names are experiments, or ids of claims. Throws std::invalid_argument that names `where` for a block without an end
/// or a name without claims.
std::string with_claims(const std::string& lesson, std::span<const Standing> all, const std::string& where);

}  // namespace klab::learning
