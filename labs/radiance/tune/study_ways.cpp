#include "labs/radiance/tune/study_ways.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "harness/records/input.h"

namespace klab {
namespace {

using nlohmann::json;

std::vector<Way> table_ways(const Config& base) {
  std::vector<Way> list;
  for (const int64_t log2 : {12, 14, 16, 18, 19})
    if (log2 != base.log2_table)
      list.push_back({"table", fmt::format("table-2^{}", log2), {{"log2_table", log2}}});
  for (const int64_t levels : {4, 8, 12, 16})
    if (levels != base.levels)
      list.push_back({"levels", fmt::format("levels-{}", levels), {{"levels", levels}}});
  for (const char* hash : {"primes", "morton", "pcg", "tiled"})
    if (base.hash != hash) list.push_back({"hash", fmt::format("hash-{}", hash), {{"hash", hash}}});
  for (const char* blend : {"linear", "nearest", "smoothstep"})
    if (base.interpolation != blend)
      list.push_back({"interpolation", fmt::format("{}", blend), {{"interpolation", blend}}});
  for (const double rate : {0.3, 1.0, 3.0, 10.0, 30.0})
    if (base.table_rate != rate)
      list.push_back({"rate", fmt::format("rate-x{:g}", rate), {{"table_rate", rate}}});
  if (base.table == "fixed") list.push_back({"adaptive", "adaptive", {{"table", "adaptive"}}});
  return list;
}

/// Settings other than the table's that may affect quality; studied only on request.
std::vector<Way> recipe_ways(const Config& base) {
  std::vector<Way> list;
  for (const char* background : {"white", "random"})
    if (base.background != background)
      list.push_back({"background", fmt::format("background-{}", background), {{"background", background}}});
  for (const double factor : {0.5, 2.0}) {
    const auto times = [&](int64_t value) { return int64_t(std::llround(double(value) * factor)); };
    list.push_back({"finest",
                    fmt::format("finest-{}", times(base.finest_resolution)),
                    {{"finest_resolution", times(base.finest_resolution)}}});
    list.push_back({"march",
                    fmt::format("march-{:g}", base.steps_per_diagonal * factor),
                    {{"steps_per_diagonal", base.steps_per_diagonal * factor}}});
    list.push_back({"learning",
                    fmt::format("learning-{:g}", base.learning_rate * factor),
                    {{"learning_rate", base.learning_rate * factor}}});
    const double batch = factor * factor;
    list.push_back({"batch",
                    fmt::format("batch-{:.0f}", double(base.batch_samples) * batch),
                    {{"batch_samples", int64_t(double(base.batch_samples) * batch)}},
                    1 / batch});
  }
  for (const char* schedule : {"cosine", "shares"})
    if (base.schedule != schedule)
      list.push_back({"schedule", fmt::format("schedule-{}", schedule), {{"schedule", schedule}}});
  for (const double decay : {0.0, 1e-7, 1e-6, 1e-5})
    if (base.weight_decay != decay)
      list.push_back({"decay", fmt::format("decay-{:g}", decay), {{"weight_decay", decay}}});
  for (const char* point : {"middle", "anywhere"})
    if (base.pixel_point != point)
      list.push_back({"pixels", fmt::format("pixels-{}", point), {{"pixel_point", point}}});
  return list;
}

constexpr std::array kGroups = {"table", "levels", "hash", "interpolation", "rate", "adaptive", "cache"};
constexpr std::array kRecipe = {"background", "finest",   "march", "batch",
                                "learning",   "schedule", "decay", "pixels"};

}  // namespace

bool study_asks(const std::vector<std::string>& groups, std::string_view group) {
  if (group == "base" || std::ranges::find(groups, group) != groups.end()) return true;
  return groups.empty() && std::ranges::find(kGroups, group) != kGroups.end();
}

std::vector<Way> study_ways(const Config& base, const std::vector<std::string>& groups) {
  std::vector<Way> list = {{"base", "base", json::object()}};
  for (const std::vector<Way>& more : {table_ways(base), recipe_ways(base)})
    std::ranges::copy_if(more, std::back_inserter(list),
                         [&](const Way& way) { return study_asks(groups, way.group); });
  return list;
}

std::string study_groups() {
  return fmt::format("{}; or of the recipe: {}", fmt::join(kGroups, ", "), fmt::join(kRecipe, ", "));
}

void require_study_groups(const std::vector<std::string>& groups) {
  for (const std::string& group : groups)
    if (std::ranges::find(kGroups, group) == kGroups.end() &&
        std::ranges::find(kRecipe, group) == kRecipe.end())
      throw std::invalid_argument(
          fmt::format("--only {}: is nothing to study; there are {}", excerpt(group), study_groups()));
}

}  // namespace klab
