// How near the stages of a run come to what the machine can do.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "harness/program/profile.h"

namespace klab {

struct StageCeiling {
  std::string name;  // of the resource that binds: "fma f32", "transcendental f32", "gather 8 B L3"
  double share = 0;  // of it that the stage reached, over all its calls
};

/// Ceilings of a run's stages, sampled while it goes on: what a machine can do changes with what else runs on it, and right
/// after a run the system is busy with what that has written.
class StageCeilings {
 public:
  explicit StageCeilings(int threads);
  ~StageCeilings();
  /// A sample of the ceiling of each resource that an op needs that is a stage of its own. About so many seconds each, some
  /// more for a ceiling that is new; stages share them.
  void sample(const Profile& profile, double seconds = 0.01);
  int samples() const { return samples_; }
  /// For each of these stages the resource of which it reached the largest share, by the median of the samples.
  std::map<std::string, StageCeiling> shares(const Profile& profile) const;

 private:
  struct Known;
  int threads_, samples_ = 0;
  std::map<std::string, std::unique_ptr<Known>> known_;  // by name: stages share them
};

}  // namespace klab
