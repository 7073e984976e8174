// What a learner hands in: one JSON file, with a digest over it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace klab {

inline constexpr int kExportVersion = 1;

struct ExportFile {
  std::map<std::string, std::string> files;  // by their place in a work folder
  std::string machine;                       // fingerprint; empty where the export names none
  bool intact = false;                       // there is a digest, and it is that of the rest
};

/// Over all of an export but the digest itself. Exports had it under "seal" before.
std::string digest_of_export(nlohmann::json j);

/// Throws std::runtime_error, "<where>: <why>", for a text that is no export. One that was changed is read, and not intact.
ExportFile read_export(const std::string& text, const std::string& where);

}  // namespace klab
