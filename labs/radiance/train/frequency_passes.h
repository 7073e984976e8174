// Two passes along rays through the classic field: first at evenly spread samples, then where the first
// weights were large.
#pragma once

#include <array>
#include <optional>

#include "harness/program/plan.h"
#include "harness/program/random.h"
#include "labs/radiance/field/frequency.h"

namespace klab {

/// Some of a batch's rays: rows `first` to `first + count` of [3,stride] arrays, and their number in the run for random draws.
struct RaySpan {
  const float *origins, *directions;
  int64_t stride, first, count;
};

class FrequencyPasses {
 public:
  FrequencyPasses(const FrequencyConfig& config, const Placement& placement);

  /// Returns the number of rays that fit.
  int64_t rays() const { return config_.chunk / (config_.coarse + config_.fine); }
  /// Evaluates at most rays() rays. Without draws, samples lie in the middle of their strata. Afterwards both
  /// passes hold densities and colors.
  void evaluate(Ops& ops, const FrequencyModel& model, const RaySpan& rays,
                const std::optional<Draws>& draws);
  /// Says whether products of a model in fewer bits have factors of bfloat16.
  void multiply_pairs(bool pairs) { pairs_ = pairs; }

  struct Pass {
    explicit Pass(const FrequencyConfig& config, int64_t samples);
    int64_t each;  // samples of a ray
    std::vector<int32_t> ray_begin;
    std::vector<float> t, delta, positions, directions;
    FrequencyPass net;

    /// Behind the rays [3,rays], and what they show: [3,rays], [rays], [rays].
    struct Shown {
      const float* background;
      float *color, *opacity, *depth;
    };
    /// Composites the samples of the first rays.
    void composite(Ops& ops, int64_t rays, const Shown& to) const;
  };
  /// The last pass counts: the second, or the only one if the config has no fine samples.
  std::array<Pass, 2>& passes() { return passes_; }
  Pass& last_pass() { return passes_[size_t(last())]; }
  int last() const { return config_.fine > 0 ? 1 : 0; }
  static int64_t bytes_of(const FrequencyConfig& config) { return 2 * FrequencyPass::bytes_of(config); }

 private:
  void spread(const RaySpan& rays, const std::optional<Draws>& draws);
  void refine(Ops& ops, const RaySpan& span, const std::optional<Draws>& draws);
  void place(Pass& pass, const RaySpan& rays) const;

  FrequencyConfig config_;
  Placement placement_;
  bool pairs_ = false;
  std::array<Pass, 2> passes_;
  std::vector<float> edges_, weights_, jitter_, more_, leave_;
};

/// Returns whether pictures by this plan have products of bfloat16s: where they take less time than those of floats or, if none
/// were timed, have an instruction of their own.
bool multiplies_pairs(const Plan& plan);

}  // namespace klab
