// Where the time of a run went, as words and as JSON.
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

/// One line a stage, the longest first, on standard output. `steps` of the run took that profile's time.
void print_stages(const Profile& profile, const Shares& ceilings, int64_t steps);

/// "75 s", "2:05 min".
std::string duration_text(double seconds);

}  // namespace klab
