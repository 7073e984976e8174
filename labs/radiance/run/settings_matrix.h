// All settings of all fields in one table, from their declarations: what they mean, what they may be, and where they apply.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "labs/radiance/field/settings.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/options.h"

namespace klab {

/// Returns the backends on which a field is trained with these settings.
std::vector<std::string> backends_of(const FieldSettings& settings);

/// A setting of one field.
struct SettingOfField {
  std::string field;
  DeclaredSetting declared;
  /// Backends on which each value is refused that the field itself is trained on.
  std::map<std::string, std::vector<std::string>> refused_on;
};

/// Returns every setting of every field, in the order of the fields and their declarations.
std::vector<SettingOfField> all_settings();

/// Returns the settings as a page in Markdown: a row for each name, a column for each field with the default there;
/// then the options, and the terms of the loss.
std::string settings_page();

/// Returns a config's text with values set by name, each "name=value". Throws std::invalid_argument for other texts.
std::string with_values(const std::string& config, const std::string& where,
                        const std::vector<std::string>& values);

}  // namespace klab
