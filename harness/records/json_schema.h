// JSON for other programs: every object names its schema, docs/schemas/NAME.json, and that schema's version.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace klab {

struct JsonSchema {
  std::string_view name, text;
};

/// Returns all schemas, by name.
std::span<const JsonSchema> json_schemas();

/// Returns the schema of that name. Throws NotFound, which names similar ones.
const JsonSchema& json_schema(std::string_view name);

/// Returns the version that the schema's objects have.
int version_of(const JsonSchema& schema);

/// Returns the object with "schema" and "schema_version" in it, in front where the order is kept.
nlohmann::json with_schema(std::string_view name, const nlohmann::json& object);
nlohmann::ordered_json with_schema(std::string_view name, const nlohmann::ordered_json& object);

}  // namespace klab
