// levels.csv of a run with a hash table: what a batch does to each level, some twenty times over a run, and the same as words.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "labs/radiance/train/level_use.h"

namespace klab {

class LevelsFile {
 public:
  /// Goes on behind step `done`: lines of later steps go, as Metrics does it. A new file where done is 0 or where the present one has
  /// other columns.
  LevelsFile(const std::filesystem::path& file, int64_t done);
  void lines(int64_t step, const std::vector<LevelUse>& uses);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

nlohmann::json levels_json(const std::vector<LevelUse>& uses);

/// A table for the terminal.
void print_levels(const std::vector<LevelUse>& uses);

}  // namespace klab
