#include "labs/radiance/run/levels.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/report/table.h"
#include "labs/radiance/run/continued_file.h"

namespace klab {
namespace {

constexpr const char* kHead = "step,level,points_per_axis,entries,moved,points,touched,alone,gradient";
}  // namespace

LevelsFile::LevelsFile(const std::filesystem::path& file, int64_t done) : file_(file) {
  begin_continued(file, kHead, done);
  out_.open(file, std::ios::app);
}

void LevelsFile::lines(int64_t step, const std::vector<LevelUse>& uses) {
  int level = 0;
  for (const LevelUse& u : uses)
    out_ << fmt::format("{},{},{},{},{:.5f},{},{},{:.5f},{:.6g}\n", step, level++, u.points_per_axis,
                        u.entries, u.moved, u.points, u.touched, u.alone, u.gradient);
  out_ << std::flush;
  if (!out_) throw std::runtime_error(file_.string() + ": cannot be written: is the disk full?");
}

nlohmann::json levels_json(const std::vector<LevelUse>& uses) {
  nlohmann::json list = nlohmann::json::array();
  for (const LevelUse& u : uses)
    list.push_back({{"points_per_axis", u.points_per_axis},
                    {"entries", u.entries},
                    {"moved", u.moved},
                    {"points", u.points},
                    {"touched", u.touched},
                    {"alone", u.alone},
                    {"gradient", u.gradient}});
  return list;
}

void print_levels(const std::vector<LevelUse>& uses) {
  Table table({{"level", Column::Kind::right},
               {"points an axis", Column::Kind::right},
               {"entries", Column::Kind::right},
               {"ever moved", Column::Kind::right},
               {"of 8192 samples: points", Column::Kind::right},
               {"in entries", Column::Kind::right},
               {"alone", Column::Kind::right},
               {"gradient", Column::Kind::right}});
  int level = 0;
  for (const LevelUse& u : uses)
    table.add({fmt::format("{}", level++), fmt::format("{}", u.points_per_axis), fmt::format("{}", u.entries),
               fmt::format("{:.1f} %", 100 * u.moved), fmt::format("{}", u.points),
               fmt::format("{}", u.touched), fmt::format("{:.1f} %", 100 * u.alone),
               fmt::format("{:.2e}", u.gradient)});
  fmt::print("\n{}", table.text());
}

}  // namespace klab
