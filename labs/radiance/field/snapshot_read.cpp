// Reads a snapshot of instant-ngp as a hash field.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"
#include "labs/radiance/field/packed_tree.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/field/snapshot_layout.h"
#include "reference/float16.h"

namespace klab {
namespace {

using nlohmann::json;

constexpr int64_t kCellsAlongEdge = 128;
constexpr float kLeastOccupied =
    0.01F;  // value from which instant-ngp takes samples of a cell, or the mean if that is less
constexpr double kFinest =
    2048;  // finest level of instant-ngp in the unit cube, where a snapshot names no growth
constexpr float kFirstHarmonic = 0.28209479F;
constexpr double kMostElsewhere =
    0.1;  // cells by which the far border of a level may lie elsewhere than in klab's

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return text;
}

/// A network as the snapshot describes it.
struct SnapshotNetwork {
  int64_t width, hidden;
  bool fused;  // channels are multiples of 16
};

class SnapshotReader {
 public:
  SnapshotReader(const std::filesystem::path& file, const json& root) : file_(file), root_(root) {}

  Model model() {
    const json& snapshot = object(root_, "snapshot");
    require_kind(snapshot);
    const Placement placement = placement_in(snapshot);
    const SnapshotNetwork density = network("network"), color = network("rgb_network");
    const float growth = encoding(placement);
    c_.sh_degree = degree_of_direction();
    c_.density_hidden = density.hidden, c_.color_hidden = color.hidden;
    c_.width = std::max<int64_t>(8, (std::max(density.width, color.width) + 7) / 8 * 8);
    marching(placement);
    const std::vector<SnapshotLevel> levels =
        snapshot_levels(c_.levels, c_.log2_table, c_.base_resolution, growth);
    const int64_t outputs = output_channels();
    // A card that cannot fuse networks has replaced them by others, whose channels are multiples of 8.
    for (const bool fused : {true, false}) {
      const int64_t of_density = fused && density.fused ? 16 : 8, of_color = fused && color.fused ? 16 : 8;
      c_.geometry_features = (outputs + of_density - 1) / of_density * of_density;
      const SnapshotLayout layout = snapshot_layout(c_, levels, density.width, color.width,
                                                    {density.fused ? 16 : 8, of_density, of_color});
      if (layout.numbers() != count_) continue;
      c_ = config_from_json(config_to_json(c_), file_.string() + ", as klab's settings");
      read_numbers(snapshot, layout);
      require_same_levels(levels, placement);
      Model out(c_, placement);
      fill(out, layout);
      read_grid(snapshot, out);
      return out;
    }
    refuse(
        "n_params",
        fmt::format("has {} parameters (n_params), and its networks and table have another number", count_));
  }

 private:
  [[noreturn]] void refuse(
      const std::string& key, const std::string& why,
      const std::string& remedy = "write it again with instant-ngp's save_snapshot") const {
    throw Refused(file_, key, why, remedy);
  }
  const json& object(const json& in, const char* key) const {
    const auto at = in.is_object() ? in.find(key) : in.end();
    if (at == in.end() || !at->is_object())
      refuse(key, fmt::format("has no \"{}\", which snapshots of instant-ngp have", key));
    return *at;
  }
  /// Returns a number of the file, or `missing` if the file has none.
  template <class Number>
  Number number(const json& in, const char* key, Range range, std::optional<Number> missing = {}) const {
    if (missing && (!in.is_object() || !in.contains(key))) return *missing;
    try {
      return number_in<Number>(in, key, range, file_.string());
    } catch (const std::runtime_error& e) {
      refuse(key, std::string(e.what()).substr(file_.string().size() + 2));
    }
  }
  std::string text(const json& in, const char* key, const char* missing) const {
    if (!in.is_object() || !in.contains(key)) return lower(missing);
    if (!in[key].is_string())
      refuse(key, fmt::format("has \"{}\" {}, which is no name", key,
                              excerpt(in[key].dump(-1, ' ', true, json::error_handler_t::replace))));
    return lower(in[key].get<std::string>());
  }
  void require_text(const json& in, const char* key, const char* missing, const char* only,
                    const std::string& remedy) const {
    const std::string found = text(in, key, missing);
    if (found != lower(only))
      refuse(key, fmt::format("has \"{}\" {}; klab reads {}", key, excerpt(found), only), remedy);
  }
  bool flag(const json& in, const char* key) const {
    if (!in.is_object() || !in.contains(key)) return false;
    if (!in[key].is_boolean()) refuse(key, fmt::format("has a \"{}\" that is neither true nor false", key));
    return in[key].get<bool>();
  }

  void require_kind(const json& snapshot) {
    const auto version = number<int64_t>(snapshot, "version", {0, 1e9}, int64_t(0));
    if (version != 1)
      refuse("version", fmt::format("has version {} of the snapshot; klab reads 1", version),
             "write it again with an instant-ngp that writes version 1");
    require_text(snapshot, "mode", "nerf", "nerf", "name a snapshot of a radiance field");
    count_ = number<int64_t>(snapshot, "n_params", {1, 1e10});
    if (number<int64_t>(snapshot, "density_grid_size", {1, 1e6}) != kCellsAlongEdge)
      refuse("density_grid_size",
             fmt::format("has another density_grid_size than {}, instant-ngp's own", kCellsAlongEdge));
  }

  Placement placement_in(const json& snapshot) const {
    const json& nerf = object(snapshot, "nerf");
    static const json nothing = json::object();
    const auto found = nerf.find("dataset");
    const json& dataset = found != nerf.end() ? *found : nothing;
    const auto side = number<int64_t>(found != nerf.end() ? dataset : nerf, "aabb_scale", range::aabb_scale);
    if ((side & (side - 1)) != 0)
      refuse("aabb_scale", fmt::format("has the aabb_scale {}, no power of two", side));
    if (number<int64_t>(dataset, "n_extra_learnable_dims", {0, 1e6}, int64_t(0)) != 0)
      refuse("n_extra_learnable_dims", "has latent codes of its pictures (n_extra_learnable_dims)",
             "train without them");
    if (flag(dataset, "is_hdr"))
      refuse("is_hdr", "has colors without an upper end (is_hdr)", "train on pictures of 8 bits");
    Placement p;
    while ((int64_t(1) << (p.cascades - 1)) < side) ++p.cascades;
    p.scale = float(number<double>(dataset, "scale", range::scale, 0.33));
    p.offset = {0.5F, 0.5F, 0.5F};
    if (dataset.is_object() && dataset.contains("offset")) p.offset = vector(dataset["offset"], "offset");
    p.yzx = !flag(dataset, "from_mitsuba");
    p.black = true;
    if (const auto at = snapshot.find("background_color"); at != snapshot.end()) {
      const Vec3 color = vector(*at, "background_color");
      p.black = color.x + color.y + color.z < 1.5F;
    }
    p.near = 0.05F;
    if (const auto own = root_.find("klab"); own != root_.end()) {
      p.near = float(number<double>(*own, "near", range::near, double(p.near)));
      if (own->contains("far")) p.far = float(number<double>(*own, "far", range::near, 0));
    }
    return p;
  }
  Vec3 vector(const json& value, const char* key) const {
    if (!value.is_array() || value.size() < 3)
      refuse(key, fmt::format("has a \"{}\" that is no three numbers", key));
    float v[3];
    for (size_t k = 0; k < 3; ++k) {
      if (!value[k].is_number() || !within(value[k].get<double>(), range::offset))
        refuse(key, fmt::format("has a \"{}\" with a number that is not {}", key, text_of(range::offset)));
      v[k] = value[k].get<float>();
    }
    return {v[0], v[1], v[2]};
  }

  SnapshotNetwork network(const char* key) const {
    const json& n = object(root_, key);
    const std::string remedy = "train with networks of ReLU units";
    require_text(n, "activation", "ReLU", "ReLU", remedy);
    require_text(n, "output_activation", "None", "None", remedy);
    const std::string kind = text(n, "otype", "MLP");
    const bool fused = kind == "fullyfusedmlp" || kind == "megakernelmlp";
    if (!fused && kind != "mlp" && kind != "cutlassmlp")
      refuse("otype", fmt::format("has a {} of otype {}", key, excerpt(kind)),
             "train with FullyFusedMLP or CutlassMLP");
    return {.width = number<int64_t>(n, "n_neurons", {1, 256}, int64_t(128)),
            .hidden = number<int64_t>(n, "n_hidden_layers", {1, 8}, int64_t(5)),
            .fused = fused};
  }
  int64_t output_channels() const {
    return number<int64_t>(object(root_, "network"), "n_output_dims", {1, 64}, int64_t(16));
  }

  /// Reads the settings of the table. Returns the growth of its levels.
  float encoding(const Placement& placement) {
    const json& e = object(root_, "encoding");
    const std::string kind = text(e, "otype", "OneBlob");
    const bool hashed = text(e, "type", "Hash") == "hash";
    if ((kind != "hashgrid" && kind != "grid") || !hashed)
      refuse("encoding", fmt::format("has the encoding {}; klab reads HashGrid", excerpt(kind)),
             "train with the HashGrid encoding");
    require_text(e, "hash", "CoherentPrime", "CoherentPrime", "train with the hash CoherentPrime");
    if (flag(e, "fixed_point_pos"))
      refuse("fixed_point_pos", "has positions of fixed point (fixed_point_pos)", "train without them");
    c_.interpolation = text(e, "interpolation", "Linear");
    c_.features = number<int64_t>(e, "n_features_per_level", {1, 8}, int64_t(2));
    const auto all = number<int64_t>(e, "n_features", {0, 256}, int64_t(0));
    c_.levels = all > 0 ? std::max<int64_t>(1, all / c_.features)
                        : number<int64_t>(e, "n_levels", {1, 32}, int64_t(16));
    c_.log2_table = number<int64_t>(e, "log2_hashmap_size", {4, 28}, int64_t(19));
    const auto base = number<int64_t>(e, "base_resolution", {0, 4096}, int64_t(0));
    c_.base_resolution =
        base > 0 ? base : int64_t(1) << (e.contains("log2_hashmap_size") ? c_.log2_table / 3 : 5);
    c_.finest_resolution = c_.base_resolution;
    if (c_.levels == 1) return 1;
    auto growth = float(number<double>(e, "per_level_scale", {0, 1e3}, 0.0));
    const double side = placement.side(), from = double(c_.base_resolution);
    if (growth == 0) growth = std::exp(std::log(float(kFinest * side / from)) / float(c_.levels - 1));
    const double finest = from * std::pow(double(growth), double(c_.levels - 1)) / side;
    if (!(growth >= 1 && finest >= from - 0.5 && finest * side <= double(1 << 20) &&
          finest < double(1 << 19)))
      refuse("per_level_scale",
             fmt::format(
                 "has levels of {} to {:.4g} points along an edge of the unit cube, by its per_level_scale",
                 c_.base_resolution, finest),
             fmt::format("train with a per_level_scale that leads from {} to more, up to 524287",
                         c_.base_resolution));
    c_.finest_resolution = std::max(c_.base_resolution, int64_t(std::llround(finest)));
    return growth;
  }

  int64_t degree_of_direction() const {
    const json* e = &object(root_, "dir_encoding");
    if (text(*e, "otype", "OneBlob") == "composite") {
      const auto nested = e->find("nested");
      if (nested == e->end() || !nested->is_array() || nested->empty() || !(*nested)[0].is_object())
        refuse("nested", "has a dir_encoding without parts (nested)");
      e = &(*nested)[0];
    }
    require_text(*e, "otype", "OneBlob", "SphericalHarmonics",
                 "train with spherical harmonics of degree 1 to 4");
    return number<int64_t>(*e, "degree", {1, 4}, int64_t(4));
  }

  /// Takes how rays are marched from klab's own entry, else instant-ngp's constants.
  void marching(const Placement& placement) {
    c_.grid = kCellsAlongEdge;
    c_.steps_per_diagonal = 1024;
    c_.cone = 1.0 / 256;
    c_.max_samples_per_ray = placement.cascades > 1 ? 4096 : 1024;
    const auto own = root_.find("klab");
    if (own == root_.end()) return;
    c_.steps_per_diagonal = number<double>(*own, "steps_per_diagonal", {8, 65536}, c_.steps_per_diagonal);
    c_.cone = number<double>(*own, "cone", {0, 1}, c_.cone);
    c_.early_stop = number<double>(*own, "early_stop", {0, 0.5}, c_.early_stop);
    c_.max_samples_per_ray = number<int64_t>(*own, "max_samples_per_ray", {1, 4096}, c_.max_samples_per_ray);
  }

  const json::binary_t& bytes(const json& in, const char* key) const {
    const auto at = in.find(key);
    if (at == in.end() || !at->is_binary()) refuse(key, fmt::format("has no bytes of \"{}\"", key));
    return at->get_binary();
  }

  void read_numbers(const json& snapshot, const SnapshotLayout& layout) {
    const std::string type = text(snapshot, "params_type", "__half");
    if (type != "__half" && type != "float")
      refuse("params_type", fmt::format("has parameters of the type {} (params_type)", excerpt(type)));
    const size_t size = type == "float" ? 4 : 2;
    const json::binary_t& data = bytes(snapshot, "params_binary");
    if (data.size() != size * size_t(layout.numbers()))
      refuse("params_binary",
             fmt::format("has {} bytes of params_binary, and n_params takes {}", data.size(),
                         size * size_t(layout.numbers())),
             "copy the file again");
    numbers_.resize(size_t(layout.numbers()));
    for (size_t i = 0; i < numbers_.size(); ++i) {
      if (size == 4)
        std::memcpy(&numbers_[i], data.data() + 4 * i, 4);
      else
        numbers_[i] = float_from_half(uint16_t(data[2 * i] | data[2 * i + 1] << 8));
      if (!std::isfinite(numbers_[i]))
        refuse("params_binary",
               fmt::format("has a parameter that is not finite, number {} of params_binary", i),
               "train it again");
    }
  }

  /// Refuses levels that klab's settings, whose finest level has a whole number of points, place elsewhere.
  void require_same_levels(const std::vector<SnapshotLevel>& levels, const Placement& placement) {
    const std::vector<HashgridLevel> ours = hashgrid_levels(hash_shape(c_, placement.cascades, 0));
    for (size_t l = 0; l < levels.size(); ++l) {
      const double away = std::abs(double(ours[l].scale) - double(levels[l].scale));
      if (ours[l].dense == levels[l].dense && away <= kMostElsewhere + 2e-6 * double(ours[l].scale)) continue;
      const HashgridShape shape = hash_shape(c_, placement.cascades, 0);
      refuse("per_level_scale",
             "has a per_level_scale whose finest level has no whole number of points along an edge of the "
             "unit cube",
             fmt::format("train with per_level_scale {:.9g}, which leads to {}",
                         hashgrid_growth(shape.levels, shape.base, shape.finest), c_.finest_resolution));
    }
  }

  void fill(Model& model, const SnapshotLayout& layout) const {
    const Array<float>&table = model.of(Part::table), &density = model.of(Part::density),
          &color = model.of(Part::color);
    const MlpFwd::Shape ours = model.color_shape(0);
    const int64_t harmonics = model.directional();
    each_stored_weight(
        model.density_shape(0), layout.density, [](int64_t k) { return k; },
        [&](int64_t to, int64_t from) { density[to] = numbers_[size_t(from)]; });
    const float* stored = numbers_.data() + layout.color_begin();
    each_stored_weight(
        ours, layout.color, [&](int64_t k) { return layout.color_column(k, harmonics); },
        [&](int64_t to, int64_t from) { color[to] = stored[from]; });
    // Channels that fill up the harmonics are 1, as the first harmonic is constant.
    for (int64_t row = 0; row < layout.color.width; ++row)
      for (int64_t k = layout.density.out + harmonics; k < layout.color.in; ++k)
        color[row * ours.in] += stored[row * layout.color.in + k] / kFirstHarmonic;
    const std::vector<HashgridLevel> levels =
        hashgrid_levels(hash_shape(model.config, model.placement.cascades, 0));
    const float* from = numbers_.data() + layout.table_begin();
    for (size_t l = 0; l < levels.size(); ++l) {
      fill_level(levels[l], layout.levels[l], layout.features, from, table.data());
      from += layout.levels[l].entries * layout.features;
    }
  }
  static void fill_level(const HashgridLevel& ours, const SnapshotLevel& theirs, int64_t features,
                         const float* from, float* table) {
    float* to = table + ours.offset * features;
    if (!ours.dense || ours.resolution == theirs.resolution) {
      std::copy_n(from, ours.entries * features, to);
      return;
    }
    const int64_t n = ours.resolution, m = theirs.resolution;
    const auto nearest = [&](int64_t x) { return std::min(x, m - 1); };
    for (int64_t z = 0; z < n; ++z)
      for (int64_t y = 0; y < n; ++y)
        for (int64_t x = 0; x < n; ++x)
          std::copy_n(from + ((nearest(z) * m + nearest(y)) * m + nearest(x)) * features, features,
                      to + ((z * n + y) * n + x) * features);
  }

  void read_grid(const json& snapshot, Model& model) const {
    const json::binary_t& data = bytes(snapshot, "density_grid_binary");
    const int64_t cells = kCellsAlongEdge * kCellsAlongEdge * kCellsAlongEdge;
    const int64_t values = cells * model.placement.cascades;
    if (data.empty()) {  // of a field that was not trained
      std::fill(model.occupancy.begin(), model.occupancy.end(), uint8_t(0xFF));
      return;
    }
    if (int64_t(data.size()) != 2 * values)
      refuse("density_grid_binary",
             fmt::format("has {} bytes of density_grid_binary, and aabb_scale takes {}", data.size(),
                         2 * values),
             "copy the file again");
    const auto value = [&](int64_t i) {
      return float_from_half(uint16_t(data[size_t(2 * i)] | data[size_t(2 * i + 1)] << 8));
    };
    double sum = 0;
    for (int64_t i = 0; i < values; ++i) {
      if (std::isnan(value(i)))
        refuse("density_grid_binary",
               fmt::format("has a cell of density_grid_binary, number {}, that is no number", i),
               "train it again");
      if (i < cells) sum += std::max(value(i), 0.0F);
    }
    const float least = std::min(kLeastOccupied, float(sum / double(cells)));
    for (int64_t i = 0; i < values; ++i)
      if (value(i) > least) model.occupancy[i / 8] |= uint8_t(1U << (i % 8));
  }

  const std::filesystem::path& file_;
  const json& root_;
  Config c_;
  int64_t count_ = 0;  // of parameters
  std::vector<float> numbers_;
};

}  // namespace

bool is_snapshot_file(const std::filesystem::path& file) {
  return file.extension() == ".ingp" || file.extension() == ".msgpack";
}

Model load_snapshot(const std::filesystem::path& file) {
  const json tree = read_packed_tree(file);
  return SnapshotReader(file, tree).model();
}

}  // namespace klab
