#include "labs/radiance/run/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/report/table.h"

namespace klab {

using nlohmann::json;

json stages_json(const Profile& profile, const Shares& ceilings) {
  json stages = json::object();
  const double total = profile.total();
  for (const auto& [stage, s] : profile.seconds()) stages[stage] = {{"seconds", s}, {"share", s / total}};
  for (const auto& [stage, c] : ceilings) {
    stages[stage]["ceiling"] = c.name;
    stages[stage]["of_ceiling"] = c.share;
  }
  return stages;
}

void print_stages(const Profile& profile, const Shares& ceilings, int64_t steps) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [stage, s] : profile.seconds()) sorted.emplace_back(s, stage);
  std::sort(sorted.rbegin(), sorted.rend());
  Table table({{"stage"},
               {"ms a step", Column::Kind::right},
               {"share", Column::Kind::right},
               {"of ceiling", Column::Kind::right},
               {"", Column::Kind::bar}});
  for (const auto& [s, stage] : sorted) {
    const auto at = ceilings.find(stage);
    table.add(
        {stage, fmt::format("{:.2f}", 1e3 * s / double(std::max<int64_t>(1, steps))),
         fmt::format("{:.1f} %", 100 * s / profile.total()),
         at == ceilings.end() ? "" : fmt::format("{:.0f} % of {}", 100 * at->second.share, at->second.name),
         Cell::bar(s)});
  }
  fmt::print("{}", table.text());
}

std::string duration_text(double s) {
  const auto whole = int64_t(std::lround(s));
  return whole < 100 ? fmt::format("{} s", whole) : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

}  // namespace klab
