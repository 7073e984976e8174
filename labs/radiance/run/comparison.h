// A picture for people who look at a run's folder.
#pragma once

#include <filesystem>

#include "labs/radiance/evaluate/evaluate.h"

namespace klab {

/// Writes a PNG of both beside each other, left what the model makes of the view, right the truth, on white or black. Throws
/// std::runtime_error naming the file when it cannot be written.
void save_comparison(const std::filesystem::path& file, const View& view, const Picture& picture, bool black);

}  // namespace klab
