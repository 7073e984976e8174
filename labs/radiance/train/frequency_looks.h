// Two looks along rays at the classic field: evenly first, then where the first look weighed most.
#pragma once

#include <array>
#include <optional>

#include "harness/program/random.h"
#include "labs/radiance/field/frequency.h"

namespace klab {

/// Some of a batch's rays: rows `first` to `first + count` of [3,stride] arrays, and their number in the run for random draws.
struct RaySpan {
  const float *origins, *directions;
  int64_t stride, first, count;
};

class FrequencyLooks {
 public:
  FrequencyLooks(const FrequencyConfig& config, const Placement& placement);

  /// Rays that fit.
  int64_t rays() const { return config_.chunk / (config_.coarse + config_.fine); }
  /// At most rays() of them. Without draws samples lie in the middle of their strata. Afterwards both looks hold densities and
  /// colors.
  void look(const Plan& plan, Profile& profile, const FrequencyModel& model, const RaySpan& rays,
            const std::optional<Draws>& draws);

  struct Look {
    explicit Look(const FrequencyConfig& config, int64_t samples);
    int64_t each;  // samples of a ray
    std::vector<int32_t> ray_begin;
    std::vector<float> t, delta, positions, directions;
    FrequencyPass pass;
  };
  /// The look that counts is the last one: the second, or the only one where the config asks for no fine samples.
  std::array<Look, 2>& looks() { return looks_; }
  int last() const { return config_.fine > 0 ? 1 : 0; }
  static int64_t bytes_of(const FrequencyConfig& config) { return 2 * FrequencyPass::bytes_of(config); }

 private:
  void spread(const RaySpan& rays, const std::optional<Draws>& draws);
  void refine(const Plan& plan, Profile& profile, const RaySpan& span, const std::optional<Draws>& draws);
  void place(Look& look, const RaySpan& rays) const;

  FrequencyConfig config_;
  Placement placement_;
  std::array<Look, 2> looks_;
  std::vector<float> edges_, weights_, jitter_, more_, leave_;
};

/// The calls of a step, or of pictures, for a plan.
std::vector<PlannedCall> frequency_calls(const FrequencyConfig& config, bool training);

}  // namespace klab
