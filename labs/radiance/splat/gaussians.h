// A scene as Gaussians in space, in the form in which they are learned.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "labs/radiance/scene/camera.h"

namespace klab {

/// n Gaussians in grid space. Array by array, so that neighbors in memory are neighbors in the set; see
/// reference/gs_project_fwd and gs_color_fwd for what they mean.
struct GaussianSet {
  int64_t n = 0;
  int degree = 0;                   // of the spherical harmonics, 0 to 3
  std::vector<float> position;      // [3,n]
  std::vector<float> log_scale;     // [3,n]
  std::vector<float> quaternion;    // [4,n], w first
  std::vector<float> opacity_raw;   // [n], logit
  std::vector<float> coefficients;  // [(degree+1)^2,3,n]

  static constexpr int kTensors = 5;
  /// The arrays in the order above, and how many numbers a Gaussian has in each.
  std::array<std::vector<float>*, kTensors> tensors() {
    return {&position, &log_scale, &quaternion, &opacity_raw, &coefficients};
  }
  std::array<int64_t, kTensors> numbers() const {
    return {3, 3, 4, 1, 3 * int64_t(degree + 1) * (degree + 1)};
  }

  /// n Gaussians, all zero.
  static GaussianSet zeros(int64_t n, int degree);
  int64_t bytes() const;
};

/// Gray, nearly transparent ones at random places in the unit cube, as large as they are far from each other. In a box of a larger
/// side, a power of two, every second one is somewhere in the box, the further from each other the further out.
GaussianSet random_gaussians(int64_t n, int degree, uint64_t seed, float side = 1);

/// A set of those Gaussians that `from` names, in that order: Gaussian i is a copy of from[i]. The same for what goes
/// along with a set, such as moments of an optimizer.
GaussianSet gathered(GaussianSet& set, std::span<const int64_t> from);

/// The camera as gs_project_fwd takes it (GsProjectFwd::Camera), without lens distortion.
std::array<float, 17> projection_of(const Camera& camera);

}  // namespace klab
