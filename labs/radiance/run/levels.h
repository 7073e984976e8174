// levels.csv of a run with a hash table: how a batch uses each level, about twenty times in a run; also as
// text.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "labs/radiance/train/level_use.h"

namespace klab {

class LevelsFile {
 public:
  /// Continues after step `done`: removes lines of later steps, like Metrics. Creates a new file if done is 0
  /// or the present one has other columns.
  LevelsFile(const std::filesystem::path& file, int64_t done);
  void lines(int64_t step, const std::vector<LevelUse>& uses);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

nlohmann::json levels_json(const std::vector<LevelUse>& uses);

/// Prints a table on the terminal.
void print_levels(const std::vector<LevelUse>& uses);

}  // namespace klab
