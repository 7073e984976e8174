// What a transforms file says of one camera: pose, focal length, lens.
#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "harness/records/numbers.h"
#include "labs/radiance/scene/camera.h"
#include "labs/radiance/scene/image.h"

namespace klab {

/// A number of that name within the range, or nothing when it is absent. Anything else under that name is an error
/// (std::runtime_error naming file, key and range), as everywhere here.
std::optional<double> optional_number(const std::filesystem::path& file, const nlohmann::json& object,
                                      const char* key, Range range);

/// Camera to world, from "transform_matrix": a rigid 4x4 matrix. `name` of the frame is for messages.
std::array<float, 12> pose_of(const std::filesystem::path& file, const nlohmann::json& frame,
                              const std::string& name);

/// Lenses that would be misread in silence are refused. Files name them in several ways (instant-ngp, COLMAP, nerfstudio).
void refuse_other_lenses(const std::filesystem::path& file, const nlohmann::json& object);

/// Intrinsics from the frame, else from the document; `size` is the picture's own. The pose is left as it is.
Camera camera_of(const std::filesystem::path& file, const nlohmann::json& document,
                 const nlohmann::json& frame, ImageSize size);

}  // namespace klab
