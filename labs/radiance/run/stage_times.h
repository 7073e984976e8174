// stages.csv of a run: which share of the time each stage has taken since the record before.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "harness/program/profile.h"

namespace klab {

class StageTimes {
 public:
  /// Continues after step `done`: removes lines of later steps. Creates a new file if done is 0 or the present one has other
  /// columns.
  StageTimes(const std::filesystem::path& file, int64_t done);
  /// Whether a record is due: one a second at first, and a hundred for each e-fold of the time.
  bool due(double seconds) const { return seconds - last_ >= std::max(1.0, 0.01 * seconds); }
  /// Writes the shares of the seconds that the profile has gained; nothing if it has gained none.
  void lines(int64_t step, double seconds, const Profile& profile);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
  std::map<std::string, double> before_;
  double last_ = 0;
};

}  // namespace klab
