// The model that a command line names: a file, or the folder of a run.
#pragma once

#include <filesystem>
#include <string>

namespace klab {

/// Returns the model's file. Throws std::runtime_error for a folder without one, which it tells from a training that has not ended, and
/// for a file that is missing or a damaged safetensors file.
std::filesystem::path model_of_run(const std::string& given);

}  // namespace klab
