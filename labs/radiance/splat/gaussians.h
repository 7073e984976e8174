// A scene as Gaussians in space, in the raw form that is trained.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "labs/radiance/scene/camera.h"

namespace klab {

/// n Gaussians in grid space, as one array for each property, so that neighbors in memory are neighbors in
/// the set. reference/gs_project_fwd and gs_color_fwd define their meaning.
struct GaussianSet {
  int64_t n = 0;
  int degree = 0;                   // of the spherical harmonics, 0 to 3
  bool antialiased = false;         // opacities are those of gs_antialias_fwd
  std::vector<float> position;      // [3,n]
  std::vector<float> log_scale;     // [3,n]
  std::vector<float> quaternion;    // [4,n], w first
  std::vector<float> opacity_raw;   // [n], logit
  std::vector<float> coefficients;  // [(degree+1)^2,3,n]

  static constexpr int kTensors = 5;
  /// Returns the arrays in the order above, and how many numbers each has for a Gaussian.
  std::array<std::vector<float>*, kTensors> tensors() {
    return {&position, &log_scale, &quaternion, &opacity_raw, &coefficients};
  }
  std::array<int64_t, kTensors> numbers() const {
    return {3, 3, 4, 1, 3 * int64_t(degree + 1) * (degree + 1)};
  }

  /// Returns n Gaussians, all zero.
  static GaussianSet zeros(int64_t n, int degree);
  int64_t bytes() const;
  /// Returns the memory that the arrays have reserved.
  int64_t held_bytes() const;
};

/// Returns gray, nearly transparent Gaussians at random places in the unit cube, as large as their distance
/// from each other. In a box of a larger side, a power of two, every second one is somewhere in the box, with
/// distances that grow outwards.
GaussianSet random_gaussians(int64_t n, int degree, uint64_t seed, float side = 1);

/// Returns the Gaussians named by `from`, in that order: Gaussian i is a copy of from[i]. The other overload
/// does the same for per-Gaussian arrays, moments of an optimizer for example.
GaussianSet gathered(GaussianSet& set, std::span<const int64_t> from);

/// Converts the camera to the form of gs_project_fwd (GsProjectFwd::Camera), without lens distortion.
std::array<float, 17> projection_of(const Camera& camera);

}  // namespace klab
