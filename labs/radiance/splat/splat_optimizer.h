// Adam on a set of Gaussians, which gains and loses Gaussians while it is trained: moments follow theirs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/program/ops.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/splat/density.h"
#include "labs/radiance/splat/gaussians.h"
#include "labs/radiance/splat/splat_options.h"

namespace klab {

class SplatOptimizer {
 public:
  /// Begins without moments, for a set as large as this one. `extent` is that of the cameras, in grid units.
  SplatOptimizer(const SplatOptions& options, double extent, GaussianSet& set);

  /// Makes a step. `done` is the elapsed share of the time, `factor` is on all learning rates; coefficients above `degree` stay.
  void update(Ops& ops, GaussianSet& set, GaussianSet& gradient, int degree, double done, double factor);
  /// Takes the moments along to a changed set, which was made from one of `before` Gaussians.
  void follow(const DensityChange& change, int64_t before);
  /// Resets all opacities to nearly transparent, and their moments.
  void reset_opacity(GaussianSet& set);

  /// Returns the memory that the moments have reserved.
  int64_t held_bytes() const;
  /// Learning rate of positions in the last step.
  double position_rate() const { return position_rate_; }

  /// Returns the state for a checkpoint. It is also the destination when it is read.
  std::vector<TensorView> state() const;
  /// Reads the state. Throws std::runtime_error, "<where>: ...", for counts or moments that no training has.
  void restore(const TensorFile& file, const std::string& where);

 private:
  struct Moments {  // of Adam, for one array
    std::vector<float> m, v;
    std::vector<int32_t> steps;
  };
  static void adam(Ops& ops, std::vector<float>& values, const std::vector<float>& gradient, Moments& moments,
                   size_t begin, size_t count, double rate);

  const SplatOptions options_;
  double extent_, position_rate_ = 0;
  std::array<Moments, GaussianSet::kTensors> moments_;
};

/// Names of a set's arrays, in their order.
inline constexpr std::array<const char*, GaussianSet::kTensors> kSplatTensors = {
    "position", "log_scale", "quaternion", "opacity_raw", "coefficients"};

}  // namespace klab
