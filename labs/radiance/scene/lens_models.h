// Converts the camera models of COLMAP, whose names nerfstudio uses too, to klab's cameras.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "labs/radiance/scene/camera.h"
#include "labs/radiance/scene/image.h"

namespace klab {

/// Wide-angle lenses: a ray at the angle θ to the axis is imaged at the distance θ(1 + k1θ² + k2θ⁴ + k3θ⁶ +
/// k4θ⁸) from the center, in focal lengths. (Kannala and Brandt, "A generic camera model and calibration
/// method", 2006, equation 6; as in OpenCV's fisheye module.)
using Fisheye = std::array<float, 4>;

struct LensModel {
  int number;  // in COLMAP's binary files
  std::string_view name;
  int parameters;  // 0: the name is known, but the model is not supported
};

/// Returns all of COLMAP's models that have a number here, including unsupported ones.
std::span<const LensModel> lens_models();
/// Finds a model by name or number; null if it is not supported.
const LensModel* lens_model(std::string_view name);
const LensModel* lens_model(int number);
/// Formats "'FOV' (known are SIMPLE_PINHOLE, ...)" for messages; a known number is replaced by its name.
std::string unknown_lens(std::string_view name);
std::string unknown_lens(int number);

struct Lens {
  Camera camera;                   // intrinsics at the size given; no pose
  std::optional<Fisheye> fisheye;  // replaces k1, k2, p1, p2, which then are 0
};

/// Makes a camera from the model's parameters in COLMAP's order (src/colmap/sensor/models.h): f or fx fy, cx
/// cy, then the lens's. Throws Refused, naming the record of the file, for a number out of range, and for FULL_OPENCV
/// unless k3 to k6 are 0.
Lens lens_of(const LensModel& model, std::span<const double> parameters, ImageSize size,
             const std::filesystem::path& file, const std::string& record);

/// The remedy for pictures of a lens that klab does not have.
inline constexpr const char* kUndistort =
    "undistort the pictures first, for instance with COLMAP's image_undistorter";

}  // namespace klab
