// A learner's submission: one JSON file with a digest over it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace klab {

inline constexpr int kExportVersion = 1;

struct ExportFile {
  std::map<std::string, std::string> files;  // by path in a work folder
  std::string machine;                       // fingerprint; empty if the export has none
  bool intact = false;                       // the digest is present and matches
};

/// Computes the digest over an export without its digest. Earlier exports stored it under "seal".
std::string digest_of_export(nlohmann::json j);

/// Throws std::runtime_error, "<where>: <why>", if the text is not an export. A modified export is read with
/// intact = false.
ExportFile read_export(const std::string& text, const std::string& where);

}  // namespace klab
