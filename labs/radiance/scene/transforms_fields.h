// Reads one camera of a transforms file: pose, focal length, lens.
#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/records/numbers.h"
#include "labs/radiance/scene/lens_models.h"
#include "labs/radiance/scene/points.h"

namespace klab {

/// Returns a number of that name within the range, or nothing if it is absent. Throws Refused, naming file, key and
/// range, for anything else, as everywhere here. `of` says whose number it is, "frame 3: " for example.
std::optional<double> optional_number(const std::filesystem::path& file, const nlohmann::json& object,
                                      const char* key, Range range, const std::string& of = "");

/// Camera to world: the rotation in the place where Camera has it, and the position unrounded.
struct FilePose {
  std::array<float, 12> pose{};  // without the position
  WorldPosition at{};
};

/// Reads camera to world from "transform_matrix", a rigid 4x4 matrix. `name` is the frame's, for messages.
FilePose pose_of(const std::filesystem::path& file, const nlohmann::json& frame, const std::string& name);

/// Does the same for given rows of that field; `of` is the name of the frame or camera.
FilePose pose_of(const std::filesystem::path& file, const nlohmann::json& rows, const std::string& field,
                 const std::string& of);

/// Reads a document. The bare words NaN, Infinity and -Infinity, which Python's json writes, become texts, so that
/// the field that holds one is named.
nlohmann::json read_transforms_json(const std::filesystem::path& file,
                                    const std::string& kind = "a transforms file");

/// Returns notes about keys of the document and its frames that are passed over: each kind once.
std::vector<std::string> notes_on_keys(const std::filesystem::path& file, const nlohmann::json& document);

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
