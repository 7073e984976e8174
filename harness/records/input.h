// Reads external files safely: special files, endless or too large files, JSON that is damaged or too deeply
// nested. Every error is one line that names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace klab {

/// Size limit in bytes of text files written by or for klab.
inline constexpr int64_t kMostText = 64'000'000;

/// Returns the bytes of a regular file. Throws std::runtime_error, "<file>: <why>", if it is missing, is a
/// folder, a pipe or a device, lies behind a circle of links, has more than `most` bytes, or cannot be read
/// to its end. Never blocks: a pipe without a writer is rejected, not opened.
std::string read_input(const std::filesystem::path& file, int64_t most = kMostText);
std::vector<uint8_t> read_bytes(const std::filesystem::path& file, int64_t most);

/// Rejects what read_input would reject, without reading it.
void require_regular_file(const std::filesystem::path& file, int64_t most = kMostText);

/// Parses a document. Throws std::runtime_error, "<where>: <why>", for text that is not JSON, for numbers out
/// of range and for more than 64 levels of brackets.
nlohmann::json parse_json(std::string_view text, const std::string& where);
nlohmann::json read_json_file(const std::filesystem::path& file, int64_t most = kMostText);

/// Returns a file name as JSON, which holds only UTF-8: as text if it is UTF-8, otherwise as a list of its
/// bytes.
nlohmann::json path_to_json(const std::filesystem::path& path);
/// Throws std::runtime_error, "<where>: ...", for a value that path_to_json() cannot produce.
std::filesystem::path path_from_json(const nlohmann::json& value, const std::string& where);

/// Returns any text as UTF-8 that JSON can hold: invalid bytes become U+FFFD.
std::string as_utf8(std::string_view text);

/// Returns the beginning of an external text, fit for a message: one line of at most 60 characters.
std::string excerpt(std::string_view text);

}  // namespace klab
