// Writes a hash field as a snapshot of instant-ngp.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/records/refused.h"
#include "labs/radiance/field/packed_tree.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/field/snapshot_layout.h"
#include "reference/float16.h"

namespace klab {
namespace {

using nlohmann::json;

constexpr int64_t kSnapshotGrid = 128;  // cells along an edge of a cascade
constexpr float kOccupied = 0.02F;      // of a cell, twice the value from which instant-ngp takes samples
constexpr double kMostMoved = 0.125;    // cells by which single precision may move a level's far border
constexpr int64_t kFusedWidths[] = {16, 32, 64, 128};

/// Refuses a setting of the model.
[[noreturn]] void refuse_setting(const SnapshotOptions& o, const char* setting, const std::string& why,
                                 const std::string& remedy) {
  throw Refused(o.source, setting, fmt::format("its \"{}\" {}", setting, why), remedy);
}

void require_expressible(const Config& c, const SnapshotOptions& o) {
  if (has_adaptive_table(c))
    refuse_setting(o, "table", "is adaptive, and levels of a snapshot have a fixed size",
                   "train with \"table\" \"fixed\"");
  if (c.hash != "primes")
    refuse_setting(o, "hash", fmt::format("is {}, and tiny-cuda-nn hashes by primes", c.hash),
                   "train with \"hash\" \"primes\"");
  if (c.directions != "harmonics")
    refuse_setting(o, "directions", fmt::format("is {}, and klab writes spherical harmonics", c.directions),
                   "train with \"directions\" \"harmonics\"");
  if (c.grid > kSnapshotGrid)
    refuse_setting(o, "grid",
                   fmt::format("is {}, and the density grid of a snapshot has {} cells along an edge", c.grid,
                               kSnapshotGrid),
                   fmt::format("train with \"grid\" {}", kSnapshotGrid));
}

/// Returns the growth of the levels for which single precision comes nearest to klab's. Throws Refused if a dense level would have
/// another size, or a level would lie elsewhere.
float growth_of(const Model& model, const SnapshotOptions& o) {
  const Config& c = model.config;
  const HashgridShape shape = hash_shape(c, model.placement.cascades, 0);
  const std::vector<HashgridLevel> ours = hashgrid_levels(shape);
  const auto nearest = float(hashgrid_growth(shape.levels, shape.base, shape.finest));
  float best = 0;
  double least = INFINITY;
  for (int tried = 0; tried <= 64; ++tried) {
    const int step = tried % 2 != 0 ? -(tried + 1) / 2 : tried / 2;  // 0, -1, 1, -2, ...
    const auto growth = std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) + uint32_t(step));
    const std::vector<SnapshotLevel> theirs =
        snapshot_levels(c.levels, c.log2_table, c.base_resolution, growth);
    double moved = 0;
    for (size_t l = 0; l < ours.size(); ++l) {
      const bool same = theirs[l].dense == ours[l].dense && theirs[l].entries == ours[l].entries &&
                        (!ours[l].dense || theirs[l].resolution == ours[l].resolution);
      moved = same ? std::max(moved, std::abs(double(theirs[l].scale) - double(ours[l].scale))) : INFINITY;
      if (!same) break;
    }
    if (moved < least) least = moved, best = growth;
  }
  if (!(least <= kMostMoved))
    refuse_setting(
        o, "finest_resolution",
        fmt::format("is {}, for which per_level_scale, a number of single precision, moves a level "
                    "away from its points",
                    c.finest_resolution),
        "train with a lower \"finest_resolution\", or another \"base_resolution\"");
  return best;
}

uint16_t half_in_snapshot(float x, const char* tensor, const SnapshotOptions& o) {
  const uint16_t half = half_from_float(x);
  if ((half & 0x7C00U) == 0x7C00U)
    throw Refused(
        o.source, tensor,
        fmt::format("its {} holds {:g}, and half precision, which a snapshot has, ends at 65504", tensor, x),
        "train it again with a lower \"learning_rate\"");
  return half;
}

json::binary_t bytes_of_halves(const std::vector<uint16_t>& halves) {
  json::binary_t bytes;
  bytes.resize(2 * halves.size());
  for (size_t i = 0; i < halves.size(); ++i)
    bytes[2 * i] = uint8_t(halves[i] & 255), bytes[2 * i + 1] = uint8_t(halves[i] >> 8);
  return bytes;
}

json::binary_t stored_numbers(const Model& model, const SnapshotLayout& layout, const SnapshotOptions& o) {
  std::vector<uint16_t> halves(size_t(layout.numbers()), 0);
  const Array<float>&table = model.of(Part::table), &density = model.of(Part::density),
        &color = model.of(Part::color);
  each_stored_weight(
      model.density_shape(0), layout.density, [](int64_t k) { return k; },
      [&](int64_t ours, int64_t stored) {
        halves[size_t(stored)] = half_in_snapshot(density[ours], "density", o);
      });
  each_stored_weight(
      model.color_shape(0), layout.color,
      [&](int64_t k) { return layout.color_column(k, model.directional()); },
      [&](int64_t ours, int64_t stored) {
        halves[size_t(layout.color_begin() + stored)] = half_in_snapshot(color[ours], "color", o);
      });
  for (int64_t i = 0; i < table.size(); ++i)
    halves[size_t(layout.table_begin() + i)] = half_in_snapshot(table[i], "hash_table", o);
  return bytes_of_halves(halves);
}

/// Returns the density grid: cells of a coarser grid become several, which lie one after the other in Morton order.
json::binary_t stored_grid(const Model& model) {
  const int64_t cells = kSnapshotGrid * kSnapshotGrid * kSnapshotGrid;
  const int64_t times = cells / (model.config.grid * model.config.grid * model.config.grid);
  std::vector<uint16_t> values(size_t(model.placement.cascades * cells), 0);
  const uint16_t occupied = half_from_float(kOccupied);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t cell = int64_t(i) / times;
    if ((model.occupancy[cell / 8] >> (cell % 8) & 1) != 0) values[i] = occupied;
  }
  return bytes_of_halves(values);
}

json list_of(Vec3 v) { return {v.x, v.y, v.z}; }

json box_of(const Placement& p) {
  const float half = p.side() / 2;
  return {{"min", list_of({0.5F - half, 0.5F - half, 0.5F - half})},
          {"max", list_of({0.5F + half, 0.5F + half, 0.5F + half})}};
}

json optimizer_of(const Config& c) {
  json adam = {{"otype", "Adam"},      {"learning_rate", c.learning_rate},
               {"beta1", c.beta1},     {"beta2", c.beta2},
               {"epsilon", c.epsilon}, {"l2_reg", c.weight_decay}};
  json decaying = {{"otype", "ExponentialDecay"},
                   {"decay_start", c.decay_start},
                   {"decay_interval", c.decay_every},
                   {"decay_base", c.decay},
                   {"nested", std::move(adam)}};
  if (c.ema == 0) return decaying;
  return {{"otype", "Ema"}, {"decay", c.ema}, {"nested", std::move(decaying)}};
}

/// Returns the least width that instant-ngp fuses; the width itself if that is none.
int64_t fused_width(int64_t width) {
  const auto at = std::ranges::find_if(kFusedWidths, [&](int64_t fused) { return width <= fused; });
  return at == std::end(kFusedWidths) ? width : *at;
}

/// Returns what the channels of such a network are multiples of.
int64_t multiple_of(int64_t width) { return width > kFusedWidths[3] ? 8 : 16; }

json network_of(int64_t width, int64_t hidden) {
  return {{"otype", width > kFusedWidths[3] ? "CutlassMLP" : "FullyFusedMLP"},
          {"activation", "ReLU"},
          {"output_activation", "None"},
          {"n_neurons", width},
          {"n_hidden_layers", hidden}};
}

/// Returns the camera as instant-ngp has it: columns to the right, down, forward, and the position.
json camera_of(const Camera& c) {
  const Vec3 right = c.axis(0), down = -1.0F * c.axis(1), forward = -1.0F * c.axis(2), at = c.position();
  const Vec3 middle{0.5F, 0.5F, 0.5F};
  return {{"matrix",
           {{right.x, down.x, forward.x, at.x},
            {right.y, down.y, forward.y, at.y},
            {right.z, down.z, forward.z, at.z}}},
          {"fov_axis", 1},
          {"relative_focal_length", {c.fx / float(c.height), c.fy / float(c.height)}},
          {"screen_center", {0.5, 0.5}},
          {"zoom", 1.0},
          {"scale", length(at - middle)},
          {"aperture_size", 0.0},
          {"autofocus", false},
          {"autofocus_target", list_of(middle)},
          {"autofocus_depth", 0.0}};
}

json dataset_of(const Placement& p, const json& up, const json& turn) {
  return {{"n_images", 0},
          {"paths", json::array()},
          {"render_aabb", box_of(p)},
          {"render_aabb_to_local", turn},
          {"up", up},
          {"offset", list_of(p.offset)},
          {"scale", p.scale},
          {"aabb_scale", int64_t(p.side())},
          {"envmap_resolution", {0, 0}},
          {"from_mitsuba", !p.yzx},
          {"is_hdr", false},
          {"wants_importance_sampling", true},
          {"n_extra_learnable_dims", 0}};
}

}  // namespace

void save_snapshot(const std::filesystem::path& file, const Model& model, const SnapshotOptions& o) {
  const Config& c = model.config;
  const Placement& p = model.placement;
  require_expressible(c, o);
  const int64_t width = fused_width(density_shape(c, 0).width),
                color_width = fused_width(color_shape(c, 0).width);
  const int64_t multiple = multiple_of(width), of_color = multiple_of(color_width);
  const float growth = growth_of(model, o);
  const SnapshotLayout layout =
      snapshot_layout(c, snapshot_levels(c.levels, c.log2_table, c.base_resolution, growth), width,
                      color_width, {multiple, multiple, of_color});
  const json up = list_of(p.in_axes(Vec3{0, 0, 1}));
  const json turn = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  const double back = p.black ? 0.0 : 1.0;
  const double sun = std::sqrt(1 / 3.0);
  json density = network_of(width, c.density_hidden);
  density["n_output_dims"] = layout.density.out;
  std::string interpolation = c.interpolation;
  interpolation[0] = char(interpolation[0] - 'a' + 'A');
  json own = {{"steps_per_diagonal", c.steps_per_diagonal},
              {"cone", c.cone},
              {"early_stop", c.early_stop},
              {"max_samples_per_ray", c.max_samples_per_ray},
              {"near", p.near}};
  if (p.far < kNoFar) own["far"] = p.far;
  const json tree = {{"loss", {{"otype", c.loss == "mse" ? "L2" : "Huber"}}},
                     {"optimizer", optimizer_of(c)},
                     {"encoding",
                      {{"otype", "HashGrid"},
                       {"n_levels", c.levels},
                       {"n_features_per_level", c.features},
                       {"log2_hashmap_size", c.log2_table},
                       {"base_resolution", c.base_resolution},
                       {"per_level_scale", growth},
                       {"interpolation", interpolation}}},
                     {"network", density},
                     {"dir_encoding",
                      {{"otype", "Composite"},
                       {"nested",
                        {{{"n_dims_to_encode", 3}, {"otype", "SphericalHarmonics"}, {"degree", c.sh_degree}},
                         {{"otype", "Identity"}}}}}},
                     {"rgb_network", network_of(color_width, c.color_hidden)},
                     {"klab", std::move(own)},
                     {"snapshot",
                      {{"version", 1},
                       {"mode", "nerf"},
                       {"n_params", layout.numbers()},
                       {"params_type", "__half"},
                       {"params_binary", json(stored_numbers(model, layout, o))},
                       {"density_grid_size", kSnapshotGrid},
                       {"density_grid_binary", json(stored_grid(model))},
                       {"nerf",
                        {{"aabb_scale", int64_t(p.side())},
                         {"rgb",
                          {{"rays_per_batch", 4096},
                           {"measured_batch_size", 0},
                           {"measured_batch_size_before_compaction", 0}}},
                         {"dataset", dataset_of(p, up, turn)}}},
                       {"training_step", o.steps},
                       {"loss", 0.0},
                       {"aabb", box_of(p)},
                       {"bounding_radius", 1.0},
                       {"render_aabb_to_local", turn},
                       {"render_aabb", box_of(p)},
                       {"up_dir", up},
                       {"sun_dir", {sun, sun, sun}},
                       {"exposure", 0.0},
                       {"background_color", {back, back, back, 1.0}},
                       {"camera", camera_of(p.in_axes(o.view))}}}};
  write_packed_tree(file, tree);
}

}  // namespace klab
