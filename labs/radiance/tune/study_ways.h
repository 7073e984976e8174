// The variations that klab hash-study compares: which fields of the config each one changes against the base.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "labs/radiance/field/config.h"

namespace klab {

/// One variation: its changes against the base, and its factor on the number of steps where steps are
/// counted. A batch of another size then sees the same number of samples.
struct Way {
  std::string group, name;
  nlohmann::json changes;
  double steps = 1;
};

/// Returns the variations of all groups asked for, the base first. Without groups: those of the table, and
/// not those of the recipe.
std::vector<Way> study_ways(const Config& base, const std::vector<std::string>& groups);
bool study_asks(const std::vector<std::string>& groups, std::string_view group);

/// Throws std::invalid_argument, listing the groups, for an unknown one.
void require_study_groups(const std::vector<std::string>& groups);
std::string study_groups();

}  // namespace klab
