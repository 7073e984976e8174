// Reads one camera of a transforms file: pose, focal length, lens.
#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "harness/records/numbers.h"
#include "labs/radiance/scene/lens_models.h"

namespace klab {

/// Returns a number of that name within the range, or nothing if it is absent. Throws std::runtime_error,
/// naming file, key and range, for anything else, as everywhere here.
std::optional<double> optional_number(const std::filesystem::path& file, const nlohmann::json& object,
                                      const char* key, Range range);

/// Reads camera to world from "transform_matrix", a rigid 4x4 matrix. `name` is the frame's, for messages.
std::array<float, 12> pose_of(const std::filesystem::path& file, const nlohmann::json& frame,
                              const std::string& name);

/// Rejects lenses that would be misread silently. Files name them in several ways (instant-ngp, COLMAP,
/// nerfstudio).
void refuse_other_lenses(const std::filesystem::path& file, const nlohmann::json& object);

/// Reads intrinsics from the frame, else from the document; `size` is the picture's own. Leaves the pose
/// unset. A lens is wide-angle if its "camera_model" contains FISHEYE, or its "is_fisheye" is true.
Lens lens_in(const std::filesystem::path& file, const nlohmann::json& document, const nlohmann::json& frame,
             ImageSize size);
/// Returns the file's name for the lens, or a description of it.
std::string lens_name(const nlohmann::json& document, const nlohmann::json& frame, const Lens& lens);

/// Reads a text that can be a file's name. The error message begins with `what`.
std::string file_name_of(const std::filesystem::path& file, const nlohmann::json& value,
                         const std::string& what);

/// Requires that a matrix of that name, if present, has 3 or 4 rows of 4 numbers.
void require_matrix(const std::filesystem::path& file, const nlohmann::json& document, const char* key);

}  // namespace klab
