// Settings of a recipe as JSON, for any struct that lists its fields as Config does:
//
//   template <class Self, class Visit> static void fields(Self& c, Visit&& visit);    visit(name, number, low, high, unit, meaning)
//   void validate() const;                                                            visit(name, string, allowed, meaning)
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
#include "harness/records/json_refused.h"
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

  void operator()(const char* name, std::string& value, const char* allowed, const char*) const {
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
  void operator()(const char* name, Number& value, double low, double high, const char*, const char*) const {
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
  const nlohmann::json document = json_or_refuse(text, where, remedy);
  if (!document.is_object()) throw Refused(where, "JSON", "is JSON, but not an object", remedy);
  const std::vector<std::string> names = setting_names<Settings>();
  for (const auto& item : document.items()) {
    const std::string& key = item.key();
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string other = elsewhere ? elsewhere(key) : "";
    const auto nearest = std::ranges::min_element(
        names, {}, [&](const std::string& name) { return edit_distance(key, name); });
    throw Refused(where, key.empty() ? "\"\"" : excerpt(key), fmt::format("unknown key \"{}\"", excerpt(key)),
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

/// A setting as it is declared.
struct DeclaredSetting {
  std::string name, meaning;
  std::string unit;    // of a number; empty: none
  std::string values;  // "from 1 to 32", or "cosine, steps, shares"
  nlohmann::json default_value;
  std::vector<nlohmann::json>
      others;  // values that differ from the default: all of a choice, a few of a number
};

/// Collects declarations.
struct SettingCollector {
  std::vector<DeclaredSetting>& list;

  void operator()(const char* name, const std::string& value, const char* allowed,
                  const char* meaning) const {
    DeclaredSetting setting{name, meaning, "", "", value, {}};
    std::istringstream words(allowed);
    for (std::string one; words >> one;) {
      setting.values += (setting.values.empty() ? "" : ", ") + one;
      if (one != value) setting.others.emplace_back(one);
    }
    list.push_back(std::move(setting));
  }
  template <class Number>
  void operator()(const char* name, const Number& value, double low, double high, const char* unit,
                  const char* meaning) const {
    DeclaredSetting setting{name, meaning, unit, text_of({low, high}), value, {}};
    // Half and twice the value, and one within a range that begins at it.
    for (const double other : {double(value) / 2, 2 * double(value), low + (high - low) / 8}) {
      const auto number = Number(other);
      if (double(number) >= low && double(number) <= high && number != value)
        setting.others.emplace_back(number);
    }
    list.push_back(std::move(setting));
  }
};

template <class Settings>
std::vector<DeclaredSetting> declared_settings() {
  std::vector<DeclaredSetting> list;
  const Settings defaults{};
  Settings::fields(defaults, SettingCollector{list});
  return list;
}

template <class Settings>
std::string settings_to_json(const Settings& settings) {
  nlohmann::json document = nlohmann::json::object();
  Settings::fields(settings, [&](const char* name, const auto& value, auto&&...) { document[name] = value; });
  return document.dump(2);
}

}  // namespace klab
