#include "harness/records/export_file.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/digest.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {

std::string digest_of_export(nlohmann::json j) {
  j.erase("digest");
  j.erase("seal");
  return sha256(j.dump());
}

ExportFile read_export(const std::string& text, const std::string& where) {
  const nlohmann::json j = parse_json(text, where);
  if (!j.is_object() || !j.contains("klab_export") || !j.contains("files") || !j["files"].is_object())
    throw std::runtime_error(where + ": has no \"klab_export\" with \"files\"");
  number_in<int>(j, "klab_export", {1, kExportVersion}, where);
  ExportFile e;
  if (const auto machine = j.find("machine"); machine != j.end() && machine->is_object())
    if (const auto print = machine->find("fingerprint"); print != machine->end() && print->is_string())
      e.machine = print->get<std::string>();
  const auto digest = j.contains("digest") ? j.find("digest") : j.find("seal");
  e.intact = digest != j.end() && digest->is_string() && digest->get<std::string>() == digest_of_export(j);
  for (const auto& [name, content] : j["files"].items())
    if (content.is_string()) e.files[name] = content.get<std::string>();
  return e;
}

}  // namespace klab
