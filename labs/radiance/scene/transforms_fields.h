// What a transforms file says of one camera: pose, focal length, lens.
#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "harness/records/numbers.h"
#include "labs/radiance/scene/lens_models.h"

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

/// Intrinsics from the frame, else from the document; `size` is the picture's own. The pose is left as it is. A lens of wide
/// angle is one whose "camera_model" says FISHEYE, or whose "is_fisheye" is true.
Lens lens_in(const std::filesystem::path& file, const nlohmann::json& document, const nlohmann::json& frame,
             ImageSize size);
/// What the file calls the lens, or what it is.
std::string lens_name(const nlohmann::json& document, const nlohmann::json& frame, const Lens& lens);

/// A text that can be a file's name. `what` begins the message of the error.
std::string file_name_of(const std::filesystem::path& file, const nlohmann::json& value,
                         const std::string& what);

/// A matrix under that name has 3 or 4 rows of 4 numbers, where there is one.
void require_matrix(const std::filesystem::path& file, const nlohmann::json& document, const char* key);

}  // namespace klab
