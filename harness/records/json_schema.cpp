#include "harness/records/json_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/core/select.h"

namespace klab {
namespace {

template <class Json>
Json marked(std::string_view name, const Json& object) {
  Json out = {{"schema", std::string(name)}, {"schema_version", version_of(json_schema(name))}};
  out.update(object);
  return out;
}

}  // namespace

const JsonSchema& json_schema(std::string_view name) {
  const auto all = json_schemas();
  const auto found = std::ranges::find(all, name, &JsonSchema::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const JsonSchema& s : all) names.emplace_back(s.name);
  throw NotFound(not_found_text("schema", std::string(name), names));
}

int version_of(const JsonSchema& schema) {
  return nlohmann::json::parse(schema.text).at("properties").at("schema_version").at("const").get<int>();
}

nlohmann::json with_schema(std::string_view name, const nlohmann::json& object) {
  return marked(name, object);
}

nlohmann::ordered_json with_schema(std::string_view name, const nlohmann::ordered_json& object) {
  return marked(name, object);
}

}  // namespace klab
