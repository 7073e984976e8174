// Reads JSON that people write: text that is none is refused with the file, the field and the remedy.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace klab {

/// Parses a document like parse_json(). Throws Refused with the field "JSON" where that throws.
nlohmann::json json_or_refuse(std::string_view text, const std::string& where, const std::string& remedy);

}  // namespace klab
