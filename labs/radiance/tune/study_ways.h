// The ways to train that klab hash-study compares: which fields of the config each changes against the base.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "labs/radiance/field/config.h"

namespace klab {

/// One way to train: what it changes against the base, and how many times as many steps it takes where steps are counted: a batch of
/// another size sees as many samples.
struct Way {
  std::string group, name;
  nlohmann::json changes;
  double steps = 1;
};

/// Of all groups asked for, the base first. Without any: those of the table, and not those of the recipe.
std::vector<Way> study_ways(const Config& base, const std::vector<std::string>& groups);
bool study_asks(const std::vector<std::string>& groups, std::string_view group);

/// Throws std::invalid_argument naming the groups there are.
void require_study_groups(const std::vector<std::string>& groups);
std::string study_groups();

}  // namespace klab
