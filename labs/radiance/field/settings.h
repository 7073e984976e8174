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
#include "harness/records/refused.h"

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

  void operator()(const char* name, std::string& value, const char* allowed) const {
    const auto at = document.find(name);
    if (at == document.end()) return;
    std::istringstream list(allowed);
    bool known = false;
    for (std::string one; at->is_string() && list >> one;) known = known || one == at->get<std::string>();
    if (!known)
      throw Refused(where, name, fmt::format("\"{}\" is {}", name, excerpt(at->dump())),
                    fmt::format("it must be one of: {}", allowed));
    value = at->get<std::string>();
  }
  template <class Number>
  void operator()(const char* name, Number& value, double low, double high) const {
    const auto at = document.find(name);
    if (at == document.end()) return;
    try {
      value = number_of<Number>(*at, name, {low, high}, where);
    } catch (const std::runtime_error& e) {
      throw Refused(where, name, std::string(e.what()).substr(where.size() + 2),
                    "correct it, or leave it out: it has a default");
    }
  }
};

/// Reads settings; missing keys keep their defaults. Throws Refused for text that is no JSON object, an unknown key, a wrong
/// type, a value out of range, and whatever validate() rejects. For an unknown key the remedy names the nearest known one, or
/// is elsewhere(key), which may name the field that has it.
template <class Settings>
Settings settings_from_json(const std::string& text, const std::string& where,
                            const std::function<std::string(const std::string&)>& elsewhere = {}) {
  constexpr const char* remedy = "write an object of settings, {\"name\": value}";
  nlohmann::json document;
  try {
    document = parse_json(text, where);
  } catch (const std::runtime_error& e) {
    throw Refused(where, "JSON", "its JSON " + std::string(e.what()).substr(where.size() + 2), remedy);
  }
  if (!document.is_object()) throw Refused(where, "JSON", "is JSON, but not an object", remedy);
  const std::vector<std::string> names = setting_names<Settings>();
  for (const auto& item : document.items()) {
    const std::string& key = item.key();
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string other = elsewhere ? elsewhere(key) : "";
    const auto nearest = std::ranges::min_element(
        names, {}, [&](const std::string& name) { return edit_distance(key, name); });
    throw Refused(where, excerpt(key), fmt::format("unknown key \"{}\"", excerpt(key)),
                  other.empty() ? fmt::format("did you mean \"{}\"?", *nearest) : other);
  }
  Settings settings;
  Settings::fields(settings, SettingReader{document, where});
  try {
    settings.validate();
  } catch (const std::invalid_argument& e) {
    // The setting that the message begins with.
    const std::string message = e.what();
    const auto named = std::ranges::min_element(
        names, {}, [&](const std::string& name) { return message.find('"' + name + '"'); });
    throw Refused(where, *named, message, "correct it, or leave it out: it has a default");
  }
  return settings;
}

template <class Settings>
std::string settings_to_json(const Settings& settings) {
  nlohmann::json document = nlohmann::json::object();
  Settings::fields(settings, [&](const char* name, const auto& value, auto&&...) { document[name] = value; });
  return document.dump(2);
}

}  // namespace klab
