#include "labs/radiance/run/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "labs/radiance/run/settings_matrix.h"

namespace klab {
namespace {

// The hash field's recipe is made for a minute on a processor. A GPU fills its multiprocessors with larger batches only. Where there is
// time, the numbers are those of examples/configs/quality.json. A step of Gaussians takes time in proportion to their number.
std::vector<Preset> make_presets() {
  return {
      {.name = "fast",
       .seconds = 12,
       .meaning = "shows whether cameras and box are right",
       .settings = {{"hash", "cuda", {"batch_samples=262144"}},
                    {"voxels", "", {"grid=128"}},
                    {"gaussians", "", {"initial=10000", "most=30000"}}}},
      {.name = "standard",
       .seconds = 60,
       .meaning = "the recipe of the field",
       .settings = {{"hash", "cuda", {"batch_samples=262144"}}, {"gaussians", "cuda", {"most=300000"}}}},
      {.name = "best",
       .seconds = 300,
       .meaning = "finer steps along rays, more Gaussians, colors of a higher degree",
       .settings = {{"hash",
                     "",
                     {"table_rate=1", "first_rays=1024", "steps_per_diagonal=1024", "grid_every=16",
                      "grid_warmup=256", "grid_fraction=0.25"}},
                    {"gaussians", "", {"most=200000", "sh_degree=3"}},
                    {"gaussians", "cuda", {"most=1000000"}}}},
  };
}

std::string assigned_name(const std::string& value) { return value.substr(0, value.find('=')); }

/// Returns what a preset sets, of one field or of all: "hash on cuda batch_samples=262144; ...".
std::string settings_of(const Preset& preset, const std::string& field) {
  std::vector<std::string> parts;
  for (const PresetSettings& each : preset.settings) {
    if (!field.empty() && field != each.field) continue;
    std::string part = field.empty() ? each.field : "";
    if (each.backend[0] != 0) part += fmt::format("{}on {}", part.empty() ? "" : " ", each.backend);
    part += fmt::format("{}{}", part.empty() ? "" : " ", fmt::join(each.values, " "));
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list = make_presets();
  return list;
}

const Preset& preset_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (name == preset.name) return preset;
    names.emplace_back(preset.name);
  }
  throw std::invalid_argument(
      fmt::format("--preset {}: must be one of: {}", excerpt(name), fmt::join(names, ", ")));
}

std::vector<std::string> preset_values(const Preset& preset, const std::string& field,
                                       const std::string& backend) {
  std::vector<std::string> values;
  for (const PresetSettings& each : preset.settings) {
    if (field != each.field || (each.backend[0] != 0 && backend != each.backend)) continue;
    for (const std::string& value : each.values) {
      const auto same = std::ranges::find(values, assigned_name(value), assigned_name);
      if (same == values.end())
        values.push_back(value);
      else
        *same = value;
    }
  }
  return values;
}

std::string with_preset(const Preset& preset, const std::string& field, const std::string& backend,
                        const std::string& config, const std::string& where,
                        const std::vector<std::string>& values) {
  nlohmann::json document =
      nlohmann::json::parse(with_values("", where, preset_values(preset, field, backend)));
  if (!config.empty()) {
    const nlohmann::json own = parse_json(config, where);
    if (!own.is_object()) return config;  // refused where it is read
    document.update(own);
  }
  return with_values(document.dump(), where, values);
}

std::string preset_text(const Preset& preset, const std::string& field, const std::string& backend) {
  const std::vector<std::string> values = preset_values(preset, field, backend);
  return fmt::format("preset    {}: {:.0f} s, {}\n", preset.name, preset.seconds,
                     values.empty() ? "the field's recipe" : fmt::format("{}", fmt::join(values, " ")));
}

std::string presets_help(const std::string& field) {
  std::string text = "a time, and settings for it, unless others are given";
  for (const Preset& preset : presets()) {
    const std::string sets = settings_of(preset, field);
    text += fmt::format("; {}: {:.0f} s{}{}", preset.name, preset.seconds, sets.empty() ? "" : ", ", sets);
  }
  return text;
}

std::string presets_page() {
  std::string text =
      "\n## Presets\n\n`--preset NAME` of `klab train` and `klab splat` sets a time, and settings for it. "
      "Options, `--config` and `--set` take precedence.\n\n"
      "| preset | seconds | for | sets |\n|---|---|---|---|\n";
  for (const Preset& preset : presets())
    text += fmt::format("| `{}` | {:.0f} | {} | {} |\n", preset.name, preset.seconds, preset.meaning,
                        settings_of(preset, ""));
  return text;
}

}  // namespace klab
