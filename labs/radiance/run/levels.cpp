#include "labs/radiance/run/levels.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/report/table.h"

namespace klab {
namespace {

constexpr const char* kHead = "step,level,points_per_axis,entries,moved,points,touched,alone,gradient";
constexpr int64_t kMostBytes = 200'000'000;

/// Returns the step at the beginning of a line, or -1.
int64_t step_of(const std::string& line) {
  try {
    return number_from<int64_t>(line.substr(0, line.find(',')), {0, range::steps.high});
  } catch (const std::invalid_argument&) {
    return -1;
  }
}

std::string kept_lines(const std::filesystem::path& file, int64_t done) {
  std::istringstream in(read_input(file, kMostBytes));
  std::string head, text;
  if (!std::getline(in, head) || head != kHead) return "";
  for (std::string line; std::getline(in, line) && !in.eof();)
    if (const int64_t step = step_of(line); step >= 0 && step <= done) text += line + "\n";
  return text;
}

}  // namespace

LevelsFile::LevelsFile(const std::filesystem::path& file, int64_t done) : file_(file) {
  std::error_code error;
  const bool goes_on = done > 0 && std::filesystem::exists(file, error);
  write_file(file, std::string(kHead) + "\n" + (goes_on ? kept_lines(file, done) : ""));
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
