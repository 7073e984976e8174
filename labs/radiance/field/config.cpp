#include "labs/radiance/field/config.h"

#include <stdexcept>

#include "labs/radiance/field/settings.h"

namespace klab {

void Config::validate() const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("config: ") + what);
  };
  require(features == 1 || features == 2 || features == 4 || features == 8,
          "\"features\" must be 1, 2, 4 or 8");
  require(width % 8 == 0, "\"width\" must be a multiple of 8");
  require(color_width % 8 == 0, "\"color_width\" must be a multiple of 8");
  require(finest_resolution >= base_resolution,
          "\"finest_resolution\" must not be below \"base_resolution\"");
  require(open_until == 0 || table == "fixed",
          "\"open_until\" goes with a \"fixed\" table: levels that wait would shrink");
  require(table == "fixed" || hash != "tiled",
          "\"hash\" \"tiled\" lies otherwise in a table of another size, so an \"adaptive\" one cannot have "
          "it: take "
          "\"morton\", under which the same points share an entry");
  require(
      table_sparse * 1.6 < table_crowded,
      "\"table_crowded\" must be more than 1.6 times \"table_sparse\": a level that has grown would shrink");
  require((grid & (grid - 1)) == 0, "\"grid\" must be a power of two");
  require(far == 0 || far > near, "\"far\" must be 0 or above \"near\"");
}

Config config_from_json(const std::string& text, const std::string& where) {
  return settings_from_json<Config>(text, where);
}

Config read_config(const std::filesystem::path& file) {
  return config_from_json(read_input(file), file.string());
}

std::string config_to_json(const Config& config) { return settings_to_json(config); }

}  // namespace klab
