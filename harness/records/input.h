// What others wrote, read with care: files that are none, that never end or are too large, JSON that is damaged or nested
// without end. Whatever is wrong is one line that names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace klab {

/// Bytes that a text file of klab's, or one written for it, may have at most.
inline constexpr int64_t kMostText = 64'000'000;

/// The bytes of a regular file. Throws std::runtime_error, "<file>: <why>", for one that is not there, that is a folder, a
/// pipe or a device, that is behind a circle of links, larger than `most` bytes, or that cannot be read to its end.
/// Nothing is waited for: a pipe that nobody writes to is refused, not opened.
std::string read_input(const std::filesystem::path& file, int64_t most = kMostText);
std::vector<uint8_t> read_bytes(const std::filesystem::path& file, int64_t most);

/// Refuses what read_input would refuse, without reading it.
void require_regular_file(const std::filesystem::path& file, int64_t most = kMostText);

/// The document in a text. Throws std::runtime_error, "<where>: <why>", for what is no JSON, for numbers beyond all numbers and
/// for more than 64 levels of brackets.
nlohmann::json parse_json(std::string_view text, const std::string& where);
nlohmann::json read_json_file(const std::filesystem::path& file, int64_t most = kMostText);

/// A name of a file for JSON, which holds UTF-8 and nothing else: as text where it is UTF-8, as a list of its bytes elsewhere.
nlohmann::json path_to_json(const std::filesystem::path& path);
/// Throws std::runtime_error, "<where>: ...", for what path_to_json() does not make.
std::filesystem::path path_from_json(const nlohmann::json& value, const std::string& where);

/// Any text as UTF-8 that JSON can hold: bytes that are none become U+FFFD.
std::string as_utf8(std::string_view text);

/// The beginning of a text from outside, fit for a message: one line of at most 60 characters.
std::string excerpt(std::string_view text);

}  // namespace klab
