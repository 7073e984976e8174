// A CSV of a run's folder whose lines begin with a step: a resumed run keeps those up to its first step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace klab {

/// Writes the head and, if `done` is not 0 and the present file has the same head, its lines of steps up to `done`.
void begin_continued(const std::filesystem::path& file, const std::string& head, int64_t done);

}  // namespace klab
