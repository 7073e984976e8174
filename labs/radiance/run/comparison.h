// Writes a picture for people who browse a run's folder.
#pragma once

#include <filesystem>

#include "labs/radiance/evaluate/evaluate.h"

namespace klab {

/// Writes a PNG with the model's picture of the view on the left and the true one on the right, on white or
/// black. Throws std::runtime_error naming the file if it cannot be written.
void save_comparison(const std::filesystem::path& file, const View& view, const Picture& picture, bool black);

}  // namespace klab
