// Settings of a recipe as JSON, for any struct that lists its fields as Config does:
//
//   template <class Self, class Visit> static void fields(Self& c, Visit&& visit);    visit(name, number, low, high)
//   void validate() const;                                                            visit(name, string, allowed)
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "harness/core/select.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {

/// Returns the names of all settings.
template <class Settings>
std::vector<std::string> setting_names() {
  Settings any;
  std::vector<std::string> names;
  Settings::fields(any, [&](const char* name, auto&, auto&&...) { names.emplace_back(name); });
  return names;
}

/// Copies the values of a JSON object into fields.
struct SettingReader {
  const nlohmann::json& document;
  const std::string& where;

  [[noreturn]] void fail(const char* name, const std::string& why) const {
    throw std::runtime_error(fmt::format("{}: \"{}\" {}", where, name, why));
  }
  void operator()(const char* name, std::string& value, const char* allowed) const {
    const auto at = document.find(name);
    if (at == document.end()) return;
    std::istringstream list(allowed);
    bool known = false;
    for (std::string one; at->is_string() && list >> one;) known = known || one == at->get<std::string>();
    if (!known) fail(name, fmt::format("must be one of: {}; found {}", allowed, excerpt(at->dump())));
    value = at->get<std::string>();
  }
  template <class Number>
  void operator()(const char* name, Number& value, double low, double high) const {
    const auto at = document.find(name);
    if (at == document.end()) return;
    value = number_of<Number>(*at, name, {low, high}, where);
  }
};

/// Reads settings; missing keys keep their defaults. Throws std::runtime_error naming key and remedy for an
/// unknown key, a wrong type or a value out of range. For an unknown key it names the nearest known one, or
/// returns elsewhere(key), which may name the field that has it. Also throws whatever validate() throws.
template <class Settings>
Settings settings_from_json(const std::string& text, const std::string& where,
                            const std::function<std::string(const std::string&)>& elsewhere = {}) {
  const nlohmann::json document = parse_json(text, where);
  if (!document.is_object()) throw std::runtime_error(where + ": must be a JSON object of settings");
  const std::vector<std::string> names = setting_names<Settings>();
  for (const auto& item : document.items()) {
    const std::string& key = item.key();
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string other = elsewhere ? elsewhere(key) : "";
    const auto nearest = std::ranges::min_element(
        names, {}, [&](const std::string& name) { return edit_distance(key, name); });
    throw std::runtime_error(
        fmt::format("{}: unknown key \"{}\"; {}", where, excerpt(key),
                    other.empty() ? fmt::format("did you mean \"{}\"?", *nearest) : other));
  }
  Settings settings;
  Settings::fields(settings, SettingReader{document, where});
  settings.validate();
  return settings;
}

template <class Settings>
std::string settings_to_json(const Settings& settings) {
  nlohmann::json document = nlohmann::json::object();
  Settings::fields(settings, [&](const char* name, const auto& value, auto&&...) { document[name] = value; });
  return document.dump(2);
}

}  // namespace klab
