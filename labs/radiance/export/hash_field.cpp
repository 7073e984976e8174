// A hash field as hash.glsl reads it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "labs/radiance/export/assets.h"
#include "labs/radiance/export/page.h"
#include "reference/float16.h"
#include "reference/hashtable_fwd/table_layout.h"

namespace klab {
namespace {

static_assert(std::endian::native == std::endian::little, "browsers read the blocks as little-endian");

int64_t fours(int64_t channels) { return (channels + 3) / 4; }

/// Appends layers as matrices in blocks of 4x4, column after column, the way a mat4 lies in memory. Channels that only fill
/// up a block have weights of 0.
class Blocks {
 public:
  /// Adds a network. The first `ahead` inputs are padded to whole blocks of their own.
  void add(const char* name, const MlpFwd::Shape& mlp, const float* weights, int64_t ahead) {
    for (int64_t l = 0; l < mlp.layers(); ++l) {
      const int64_t from = mlp.from(l), to = mlp.to(l), first = l == 0 ? ahead : 0;
      const int64_t padded = fours(first) + fours(from - first);
      const float* matrix = weights + mlp.weight_begin(l);
      const auto begin = int64_t(floats_.size());
      floats_.resize(size_t(begin + 16 * padded * fours(to)), 0.0F);
      for (int64_t r = 0; r < to; ++r)
        for (int64_t c = 0; c < from; ++c) {
          const int64_t at = c < first ? c : 4 * fours(first) + c - first;
          const int64_t block = r / 4 * padded + at / 4;
          floats_[size_t(begin + 16 * block + 4 * (at % 4) + r % 4)] = matrix[r * from + c];
        }
      layers_.push_back({{"network", name}, {"from", padded}, {"to", fours(to)}, {"relu", l < mlp.hidden}});
    }
  }
  const nlohmann::json& layers() const { return layers_; }
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out(floats_.size() * 4);
    std::memcpy(out.data(), floats_.data(), out.size());
    return out;
  }

 private:
  std::vector<float> floats_;
  nlohmann::json layers_ = nlohmann::json::array();
};

}  // namespace

std::vector<uint8_t> halves_in_page(std::span<const float> numbers, const char* what) {
  std::vector<uint8_t> bytes(2 * numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint16_t half = half_from_float(numbers[i]);
    if ((half & 0x7FFFU) >= kHalfFormat.infinity)
      throw std::runtime_error(
          fmt::format("{} holds {}, which float16 cannot: train with a lower learning rate in the config",
                      what, numbers[i]));
    std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

PageField page_field(const Model& model) {
  const Config& c = model.config;
  const float side = model.placement.side();
  const float step = std::sqrt(3.0F) / float(c.steps_per_diagonal);
  const auto real = [](double v) { return fmt::format("{:#.9g}", v); };
  const auto whole = [](int64_t v) { return fmt::format("{}", v); };

  PageField field;
  field.shader = viewer::hash_shader();
  field.settings["defines"] = {{"LEVELS", whole(c.levels)},
                               {"FEATURES", whole(c.features)},
                               {"ENCODED", whole(fours(model.encoded()))},
                               {"HARMONICS", whole(fours(model.directional()))},
                               {"GEOMETRY", whole(fours(c.geometry_features))},
                               {"HASH", whole(hash_kind(c.hash))},
                               {"BLEND", whole(blend_kind(c.interpolation))},
                               {"GRID", whole(c.grid)},
                               {"CASCADES", whole(model.placement.cascades)},
                               {"SIDE", real(side)},
                               {"NEAR", real(model.placement.near)},
                               {"FAR", real(model.placement.far)},
                               {"STEP_LEAST", real(step)},
                               {"STEP_MOST", real(step * side)},
                               {"CONE", real(model.placement.cascades > 1 ? c.cone : 0)},
                               {"MAX_SAMPLES", whole(c.max_samples_per_ray)},
                               {"EARLY_STOP", real(c.early_stop)}};
  field.settings["textures"] = {
      {{"name", "table"}, {"numbers", "half"}, {"channels", std::min<int64_t>(4, c.features)}}};
  field.settings["levels"] = nlohmann::json::array();
  for (const TableLevel& level : table_levels(c.levels, model.scales.data(), model.sizes.data()))
    field.settings["levels"].push_back({{"scale", level.scale},
                                        {"points", level.points},
                                        {"offset", level.offset},
                                        {"entries", level.entries},
                                        {"bits", level.bits}});
  Blocks weights;
  weights.add("density", model.density_shape(0), model.of(Part::density).data(), 0);
  weights.add("color", model.color_shape(0), model.of(Part::color).data(), model.directional());
  field.settings["layers"] = weights.layers();
  field.blocks = {{"table", halves_in_page(model.of(Part::table), "the hash table")},
                  {"weights", weights.bytes()},
                  {"occupancy", {model.occupancy.data(), model.occupancy.data() + model.occupancy.size()}}};
  return field;
}

}  // namespace klab
