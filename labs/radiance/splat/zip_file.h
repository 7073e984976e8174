// Small ZIP archives: files that are in memory all at once, stored as they are or deflated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace klab {

/// Writes files, stored. Throws FileError, and std::runtime_error for an archive of 4 GB or more.
void write_zip(const std::filesystem::path& file,
               const std::vector<std::pair<std::string, std::vector<uint8_t>>>& entries);

/// Reads all files of an archive. Throws Refused for one that is damaged, cut short, encrypted, larger than 4 GB, deflated more than
/// deflate can, or of more than a thousand files, and std::runtime_error like read_bytes().
std::map<std::string, std::vector<uint8_t>> read_zip(const std::filesystem::path& file);

}  // namespace klab
