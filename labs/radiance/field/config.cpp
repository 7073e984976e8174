#include "labs/radiance/field/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "harness/core/select.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {
namespace {

using nlohmann::json;

std::string nearest_key(const std::string& key) {
  Config any;
  std::vector<std::string> names;
  Config::fields(any, [&](const char* name, auto&, auto&&...) { names.emplace_back(name); });
  const auto closest = std::min_element(names.begin(), names.end(), [&](const auto& x, const auto& y) {
    return edit_distance(key, x) < edit_distance(key, y);
  });
  return *closest;
}

bool is_word_of(const std::string& word, const std::string& allowed) {
  std::istringstream list(allowed);
  for (std::string one; list >> one;)
    if (one == word) return true;
  return false;
}

struct Reader {
  const json& document;
  const std::string& where;

  [[noreturn]] void fail(const char* name, const std::string& why) const {
    throw std::runtime_error(fmt::format("{}: \"{}\" {}", where, name, why));
  }
  void operator()(const char* name, std::string& value, const char* allowed) const {
    const auto at = document.find(name);
    if (at == document.end()) return;
    if (!at->is_string() || !is_word_of(at->get<std::string>(), allowed))
      fail(name, fmt::format("must be one of: {}; found {}", allowed, excerpt(at->dump())));
    value = at->get<std::string>();
  }
  template <class Number>
  void operator()(const char* name, Number& value, double low, double high) const {
    const auto at = document.find(name);
    if (at == document.end()) return;
    value = number_of<Number>(*at, name, {low, high}, where);
  }
};

}  // namespace

void Config::validate() const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("config: ") + what);
  };
  require(features == 1 || features == 2 || features == 4 || features == 8,
          "\"features\" must be 1, 2, 4 or 8");
  require(width % 8 == 0, "\"width\" must be a multiple of 8");
  require(finest_resolution >= base_resolution,
          "\"finest_resolution\" must not be below \"base_resolution\"");
  require((grid & (grid - 1)) == 0, "\"grid\" must be a power of two");
}

Config config_from_json(const std::string& text, const std::string& where) {
  const json document = parse_json(text, where);
  if (!document.is_object()) throw std::runtime_error(where + ": must be a JSON object of settings");
  Config config;
  for (const auto& item : document.items()) {
    const std::string& key = item.key();
    bool known = false;
    Config::fields(config, [&](const char* name, auto&, auto&&...) { known |= key == name; });
    if (!known)
      throw std::runtime_error(
          fmt::format("{}: unknown key \"{}\"; did you mean \"{}\"?", where, excerpt(key), nearest_key(key)));
  }
  Config::fields(config, Reader{document, where});
  config.validate();
  return config;
}

Config read_config(const std::filesystem::path& file) {
  return config_from_json(read_input(file), file.string());
}

std::string config_to_json(const Config& config) {
  json document = json::object();
  Config::fields(config, [&](const char* name, const auto& value, auto&&...) { document[name] = value; });
  return document.dump(2);
}

}  // namespace klab
