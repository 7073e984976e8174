// Presets: a time of training, and the settings of each field for it.
#pragma once

#include <string>
#include <vector>

namespace klab {

/// Settings of one field.
struct PresetSettings {
  const char* field;
  const char* backend;              // on which alone; empty: on all
  std::vector<std::string> values;  // "name=value"
};

struct Preset {
  const char* name;
  double seconds;
  const char* meaning;
  std::vector<PresetSettings> settings;  // later ones replace values of earlier ones
};

/// Returns all of them, the shortest first.
const std::vector<Preset>& presets();
/// Throws std::invalid_argument naming option and presets for an unknown name.
const Preset& preset_named(const std::string& name);

/// Returns the values that a preset sets for a field on a backend, each name once.
std::vector<std::string> preset_values(const Preset& preset, const std::string& field,
                                       const std::string& backend);

/// Returns a config's text with the values of a preset where the config has none, and then with `values`, each "name=value".
/// Throws like with_values().
std::string with_preset(const Preset& preset, const std::string& field, const std::string& backend,
                        const std::string& config, const std::string& where,
                        const std::vector<std::string>& values);

/// Returns the line that a command prints: name, seconds and values.
std::string preset_text(const Preset& preset, const std::string& field, const std::string& backend);
/// Returns the help of --preset: all presets with what they set, of one field or of all.
std::string presets_help(const std::string& field = "");
/// Returns the presets as a section in Markdown.
std::string presets_page();

}  // namespace klab
