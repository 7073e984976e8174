// The camera models of COLMAP, whose names nerfstudio uses too, and what klab's cameras make of them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "labs/radiance/scene/camera.h"
#include "labs/radiance/scene/image.h"

namespace klab {

/// Lenses of wide angle: a ray that makes the angle θ with the axis ends at the distance θ(1 + k1θ² + k2θ⁴ + k3θ⁶ + k4θ⁸) from
/// the middle, in focal lengths. (Kannala and Brandt, "A generic camera model and calibration method", 2006, equation 6; as
/// OpenCV's fisheye module has it.)
using Fisheye = std::array<float, 4>;

struct LensModel {
  int number;  // in COLMAP's binary files
  std::string_view name;
  int parameters;  // 0: known by name only, not read
};

/// All of COLMAP's that have a number here, also those that are not read.
std::span<const LensModel> lens_models();
/// By name or number; null where it is not read.
const LensModel* lens_model(std::string_view name);
const LensModel* lens_model(int number);
/// "'FOV' (known are SIMPLE_PINHOLE, ...)", for messages; a number is given its name where it has one.
std::string unknown_lens(std::string_view name);
std::string unknown_lens(int number);

struct Lens {
  Camera camera;                   // intrinsics at the size given; no pose
  std::optional<Fisheye> fisheye;  // in place of k1, k2, p1, p2, which then are 0
};

/// A camera from the model's parameters in COLMAP's order (src/colmap/sensor/models.h): f or fx fy, cx cy, then the lens's.
/// Throws std::runtime_error, "<where>: ...", for a number that is not in its range, and for FULL_OPENCV whose k3 to k6 are
/// not all 0.
Lens lens_of(const LensModel& model, std::span<const double> parameters, ImageSize size,
             const std::string& where);

}  // namespace klab
