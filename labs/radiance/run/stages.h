// Reports where the time of a run went, as text and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/program/profile.h"
#include "labs/radiance/run/stage_ceilings.h"

namespace klab {

using Shares = std::map<std::string, StageCeiling>;

nlohmann::json stages_json(const Profile& profile, const Shares& ceilings);

/// Prints one line for each stage, the longest first, on standard output. The profile covers `steps` steps.
void print_stages(const Profile& profile, const Shares& ceilings, int64_t steps);

/// Formats a duration: "75 s", "2:05 min".
std::string duration_text(double seconds);

}  // namespace klab
