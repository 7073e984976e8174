#include "labs/radiance/run/stage_times.h"

#include <fmt/format.h>

#include <stdexcept>

#include "labs/radiance/run/continued_file.h"

namespace klab {

StageTimes::StageTimes(const std::filesystem::path& file, int64_t done) : file_(file) {
  begin_continued(file, "step,seconds,stage,share", done);
  out_.open(file, std::ios::app);
}

void StageTimes::lines(int64_t step, double seconds, const Profile& profile) {
  std::map<std::string, double> gained;
  double all = 0;
  for (const auto& [stage, s] : profile.seconds()) {
    gained[stage] = s - before_[stage];
    all += gained[stage];
  }
  if (!(all > 0)) return;
  for (const auto& [stage, s] : gained)
    out_ << fmt::format("{},{:.3f},{},{:.5f}\n", step, seconds, stage, s / all);
  out_ << std::flush;
  if (!out_) throw std::runtime_error(file_.string() + ": cannot be written: is the disk full?");
  before_ = profile.seconds();
  last_ = seconds;
}

}  // namespace klab
