// The model: a hash table and two small networks, with the shapes that the operations are called with.
#pragma once

#include <array>
#include <vector>

#include "labs/radiance/field/config.h"
#include "labs/radiance/field/memory.h"
#include "labs/radiance/field/tensor_file.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

/// Where the model's unit cube lies in the world.
struct Placement {
  int cascades = 1;
  float scale = 1;
  Vec3 offset{};
  float near = 0;
  bool black = false;  // evaluation on black instead of white

  float side() const { return float(1 << (cascades - 1)); }
};

/// One group of parameters that the optimizer updates together.
enum class Part { table, density, color };
inline constexpr std::array kParts = {Part::table, Part::density, Part::color};

struct Model {
  Config config;
  Placement placement;
  std::array<Array<float>, 3> parameters;  // by Part
  Array<uint8_t> occupancy;                // [cascades, grid³/8], as ray_march reads it

  Model(const Config& config, const Placement& placement);

  const Array<float>& of(Part part) const { return parameters[size_t(part)]; }
  int64_t encoded() const { return config.levels * config.features; }
  int64_t directional() const { return config.sh_degree * config.sh_degree; }
  int64_t color_in() const { return directional() + config.geometry_features; }
  int64_t density_weights() const;
  int64_t color_weights() const;
  int64_t table_entries() const;
  /// Shapes in the order of the dims of hashgrid_fwd and mlp_fwd.
  std::array<int64_t, 8> hash_shape(int64_t n) const;
  std::array<int64_t, 6> density_shape(int64_t n) const;
  std::array<int64_t, 6> color_shape(int64_t n) const;

  /// Table uniform in ±1e-4, matrices Xavier-uniform, by seed (recipe of instant-ngp).
  void initialize(uint64_t seed);

  /// Named views of all tensors, layer by layer: "hash_table", "density.0", ..., "color.2", "occupancy".
  std::vector<TensorView> tensors() const;
  std::map<std::string, std::string> metadata() const;
  void save(const std::filesystem::path& file) const;
  static Model load(const std::filesystem::path& file);

  /// Bytes of a model with this config, before anything is allocated.
  static int64_t bytes_of(const Config& config, int cascades);
};

/// Copies the parameters and the grid out of an opened file of the same shapes.
void read_model(const TensorFile& file, Model& model);

}  // namespace klab
