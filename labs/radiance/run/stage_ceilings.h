// Compares the stages of a run with the machine's ceilings.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "harness/program/call_times.h"
#include "harness/program/profile.h"

namespace klab {

struct StageCeiling {
  std::string name;  // of the limiting resource: "fma f32", "transcendental f32", "gather 8 B L3"
  double share = 0;  // share of the ceiling that the stage reached over all its calls
};

/// Ceilings for a run's stages, sampled while it trains. A machine's ceilings change with its other load, and
/// right after a run the system is busy with the files that it wrote.
class StageCeilings {
 public:
  /// Bytes that the arrays and tables of all samplers may take together; a ceiling that would need more is left out.
  static constexpr int64_t kMostBytes = 275'000'000;

  explicit StageCeilings(int threads);
  ~StageCeilings();
  /// Samples the ceiling of each resource that a stage with one op needs. Takes about `seconds` each, more for a
  /// new ceiling; stages share them.
  void sample(const Profile& profile, double seconds = 0.01);
  /// Returns the bytes of the samplers' arrays for stages that make these calls, at most.
  static int64_t bytes_of(std::span<const PlannedCall> calls, int threads);
  int samples() const { return samples_; }
  /// Names of the ceilings that were left out because of kMostBytes.
  const std::set<std::string>& left_out() const { return left_out_; }
  /// For each of these stages the resource of which it reached the largest share, by the median of the samples.
  std::map<std::string, StageCeiling> shares(const Profile& profile) const;

 private:
  struct Known;
  int threads_, samples_ = 0;
  int64_t bytes_ = 0;  // of all samplers
  std::set<std::string> left_out_;
  std::map<std::string, std::unique_ptr<Known>> known_;  // by name: stages share them
};

}  // namespace klab
