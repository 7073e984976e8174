// The model: a hash table and two small networks, with the shapes for calling the operations.
#pragma once

#include <array>
#include <vector>

#include "harness/program/memory.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/field/config.h"
#include "labs/radiance/field/narrow.h"
#include "labs/radiance/field/placement.h"
#include "labs/radiance/field/table.h"
#include "labs/radiance/scene/scene.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

namespace klab {

/// One group of parameters that the optimizer updates together.
enum class Part { table, density, color };
inline constexpr std::array kParts = {Part::table, Part::density, Part::color};

/// Returns the shapes of the two networks for n points.
MlpFwd::Shape density_shape(const Config& config, int64_t n);
MlpFwd::Shape color_shape(const Config& config, int64_t n);
/// Returns a network's shape with its weights in f16, bf16 or int8.
MlpNarrowFwd::Shape narrow_shape(const MlpFwd::Shape& network, Storage precision);

struct Model {
  Config config;
  Placement placement;
  Storage precision = Storage::f32;        // of the learned numbers in memory
  std::array<Array<float>, 3> parameters;  // by Part
  std::array<NarrowPart, 3> narrow;        // by Part, in their place where the precision is not f32
  Array<uint8_t> occupancy;                // [cascades, grid³/8], as ray_march reads it
  std::vector<float> scales;               // [levels] of the table
  std::vector<int64_t> sizes;              // [levels] entries of each; those of an adaptive table change

  Model(const Config& config, const Placement& placement, Storage precision = Storage::f32);

  const Array<float>& of(Part part) const { return parameters[size_t(part)]; }
  int64_t encoded() const { return config.levels * config.features; }
  int64_t directional() const { return direction_features(config); }
  int64_t color_in() const { return directional() + config.geometry_features; }
  int64_t density_weights() const;
  int64_t color_weights() const;
  int64_t table_entries() const;   // room for entries
  int64_t entries_in_use() const;  // of all levels at their present sizes
  int64_t held_bytes() const;      // of the learned numbers in memory, with their scales
  MlpFwd::Shape density_shape(int64_t n) const { return klab::density_shape(config, n); }
  MlpFwd::Shape color_shape(int64_t n) const { return klab::color_shape(config, n); }

  /// Initializes by seed: table uniform in ±1e-4, matrices Xavier-uniform (recipe of instant-ngp).
  void initialize(uint64_t seed);

  /// Returns named views of all tensors, layer by layer: "hash_table", "density.0", ..., "color.2",
  /// "occupancy", and for an adaptive table "table_sizes". Numbers in fewer bits have the types and scales of stored.h.
  std::vector<TensorView> tensors() const;
  /// Throws std::runtime_error, "<where>: ...", for sizes of levels that no table of the config can have.
  void require_plausible_sizes(const std::string& where) const;
  std::map<std::string, std::string> metadata() const;
  void save(const std::filesystem::path& file) const;
  /// Returns a copy of a model of floats. Throws std::logic_error for another precision.
  Model copy() const;
  /// Reads a model of floats, or one in fewer bits (stored.h), packed or not. Its numbers are floats in memory, or in another `precision`:
  /// as the file has them, or rounded to it. Throws std::runtime_error naming the file and the damage.
  static Model load(const std::filesystem::path& file, Storage precision = Storage::f32);

  /// Returns the bytes of a model with this config, before anything is allocated.
  static int64_t bytes_of(const Config& config, int cascades);
};

/// Copies the parameters and the grid out of an opened file of the same shapes. Throws std::runtime_error
/// naming the file for sizes of levels that no such table can have.
void read_model(const TensorFile& file, Model& model);

}  // namespace klab
