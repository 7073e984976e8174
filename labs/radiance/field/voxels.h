// A scene as a grid of voxels. Vertices have a density and spherical harmonics of three colors, and both are
// interpolated between them. Empty space has no vertices.
//
// A. Yu, S. Fridovich-Keil and others, "Plenoxels: radiance fields without neural networks", CVPR 2022.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/program/memory.h"
#include "harness/records/tensor_file.h"
#include "labs/radiance/field/narrow.h"
#include "labs/radiance/field/placement.h"
#include "labs/radiance/loss/terms.h"

namespace klab {

/// Every number of the recipe for voxels.
struct VoxelConfig : LossSettings {
  VoxelConfig() { total_variation = 1e-6; }

  // Grid.
  int64_t first_grid = 32;   // cells along an edge at first; doubled until ...
  int64_t grid = 256;        // ... it has this many
  double grow_until = 0.3;   // share of the run after which the grid has its final resolution
  double prune_until = 0.6;  // share after which no more cells are removed
  double prune = 0.02;       // a cell stays if it or a neighbor absorbs at least this share of the light
  std::string spacing =
      "graded";                // for scenes larger than twice the unit cube: cells grow outwards; or "even"
  int64_t max_rows = 3000000;  // vertices; a grid that would have more is not refined
  int64_t sh_degree = 2;       // of the colors
  double start = -2;           // initial log-density of a unit cube; a larger box subtracts log(side)
  double empty = -8;           // log-density of missing vertices
  // Optimizer: Adam.
  double density_rate = 0.2;  // learning rate of the logarithm of the density
  double color_rate = 0.05;   // learning rate of the coefficients
  double final_rate = 0.1;    // factor at the end of the run, after a cosine
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-15;
  // Batch.
  int64_t batch_samples = 1 << 17;  // samples with a gradient in a step; the number of rays follows
  int64_t first_rays = 256;
  std::string pixel_point = "middle";  // as in Config
  double near = 0, far = 0;            // as in Config
  double early_stop = 1e-4;            // transmittance
  // Loss, besides the weights of its terms.
  std::string loss = "huber";  // "mse" | "huber" | "smooth_l1"
  std::string background =
      "white";  // training: "white" | "black" | "random"; evaluation is on white unless black

  int64_t basis() const { return (sh_degree + 1) * (sh_degree + 1); }

  /// Like Config::fields.
  template <class Self, class Visit>
  static void fields(Self& c, Visit&& visit) {
    visit("first_grid", c.first_grid, 8, 512, "cells", "cells along an edge at first");
    visit("grid", c.grid, 8, 512, "cells", "cells along an edge of the grid");
    visit("grow_until", c.grow_until, 0, 1, "share of the run",
          "share of the run after which the grid has its final resolution");
    visit("prune_until", c.prune_until, 0, 1, "share of the run",
          "share of the run after which no more cells are removed");
    visit("prune", c.prune, 0, 0.5, "share of the light",
          "share of the light from which a cell or its neighbor stays");
    visit("spacing", c.spacing, "graded even", "sizes of cells in scenes larger than twice the unit cube");
    visit("max_rows", c.max_rows, 1000, 50000000, "vertices", "vertices, at most");
    visit("sh_degree", c.sh_degree, 0, 2, "", "degree of the spherical harmonics");
    visit("start", c.start, -20, 10, "log of density", "initial logarithm of the density of a unit cube");
    visit("empty", c.empty, -30, 5, "log of density", "logarithm of the density of missing vertices");
    visit("density_rate", c.density_rate, 1e-9, 10, "", "learning rate of the logarithms of densities");
    visit("color_rate", c.color_rate, 1e-9, 10, "", "learning rate of the colors");
    visit("final_rate", c.final_rate, 0, 1, "learning_rate",
          "factor on the learning rate at the end, after a cosine");
    visit("beta1", c.beta1, 0, 0.9999999, "", "decay of Adam's first moment, a step");
    visit("beta2", c.beta2, 0, 0.9999999, "", "decay of Adam's second moment, a step");
    visit("epsilon", c.epsilon, 1e-30, 1, "", "Adam's summand in the denominator");
    visit("batch_samples", c.batch_samples, 256, int64_t(1) << 24, "samples",
          "samples with a gradient in a step");
    visit("first_rays", c.first_rays, 1, 1 << 22, "rays", "rays of the first step");
    visit("pixel_point", c.pixel_point, "middle anywhere", "where a ray passes through its pixel");
    visit("near", c.near, 0, 8, "cube sides",
          "distance from the camera up to which nothing is sampled, in sides of the unit cube; 0: as the "
          "scene says");
    visit("far", c.far, 0, 1000, "cube sides",
          "distance from the camera behind which nothing is sampled, in sides of the unit cube; 0: no such "
          "distance");
    visit("early_stop", c.early_stop, 0, 0.5, "share of the light", "transmittance at which a ray ends");
    visit("loss", c.loss, "mse huber smooth_l1", "what a difference of colors costs");
    visit("background", c.background, "white black random", "behind transparent pixels, in training");
    weights(c, visit);
  }

  /// Throws std::invalid_argument for grids that are no powers of two, and a first grid finer than the last.
  void validate() const;
};

struct VoxelModel {
  VoxelConfig config;
  Placement placement;
  int64_t grid = 0;           // cells along an edge
  Array<int32_t> links;       // [(grid+1)³] x fastest: row of each vertex, -1: none
  Array<float> density;       // [rows] logarithm
  Array<float> coefficients;  // [rows,3,basis]
  // In their place where the precision is not f32, for pictures only: densities in halves, and coefficients in its format.
  Storage precision = Storage::f32;
  NarrowPart few_densities, few_coefficients;
  // [grid³/8] as voxel_march reads it: set for cells all of whose vertices have rows
  Array<uint8_t> occupancy;

  int64_t rows() const { return precision == Storage::f32 ? density.size() : few_densities.halves.size(); }
  bool is_graded() const { return config.spacing == "graded" && placement.cascades > 2; }
  int64_t bytes() const { return links.bytes() + held_bytes() + occupancy.bytes(); }
  /// Returns the bytes of densities and coefficients in memory, with their scales.
  int64_t held_bytes() const {
    return density.bytes() + coefficients.bytes() + few_densities.held() + few_coefficients.held();
  }

  VoxelModel(const VoxelConfig& config, const Placement& placement, int64_t grid, int64_t rows);
  /// Returns the whole first grid, gray and nearly transparent.
  static VoxelModel at_first(const VoxelConfig& config, const Placement& placement);

  VoxelModel copy() const;
  /// Returns the model with its coefficients rounded to f16, bf16 or int8, a factor for each harmonic of a color, and densities in
  /// halves. Throws std::runtime_error for a number that the format does not have.
  VoxelModel narrowed(Storage precision) const;
  /// Returns the same scene on a grid finer by `factor`, 1 or 2, without cells that are transparent like
  /// their neighbors (config.prune). New vertices get config.empty and no color. `seen` tells for each row
  /// whether a ray ever reached it before it was opaque; rows that were not seen count as transparent. Empty:
  /// all rows were seen. Throws std::runtime_error if nothing is left.
  VoxelModel refined(int64_t factor, const std::vector<uint8_t>& seen = {}) const;
  /// Returns the rows that refined() would have.
  int64_t rows_refined(int64_t factor, const std::vector<uint8_t>& seen = {}) const;

  /// Fills `occupancy` from `links`.
  void mark_cells();

  std::vector<TensorView> tensors() const;
  std::map<std::string, std::string> metadata() const;
  void save(const std::filesystem::path& file) const;
  static VoxelModel load(const std::filesystem::path& file);
  /// Reads an opened file, a model's or a checkpoint's. Throws std::runtime_error naming the file and the
  /// damage: fewer bytes than the metadata say, links to missing rows.
  static VoxelModel read(const TensorFile& file);

  static constexpr const char* kind = "voxels 1";  // written into the file

 private:
  std::vector<double> edges() const;
  std::vector<uint8_t> kept_cells(int64_t factor, const std::vector<uint8_t>& seen) const;
  std::vector<uint8_t> vertices_of(const std::vector<uint8_t>& kept, int64_t factor) const;
};

/// Returns the most memory that a model and its optimizer can take, in bytes: the rows of the first grid or
/// config.max_rows.
int64_t voxel_bytes_at_most(const VoxelConfig& config);

VoxelConfig voxel_config_from_json(const std::string& text, const std::string& where);

}  // namespace klab
