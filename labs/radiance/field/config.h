// Every number of the recipe, in one list: defaults, limits, JSON in and out.
//
// Sources: T. Mueller et al., "Instant Neural Graphics Primitives with a Multiresolution Hash Encoding",
// 2022, and the details of its published implementation; variations from nerfacc and ngp_pl where a comment
// says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "labs/radiance/loss/terms.h"

namespace klab {

struct Config : LossSettings {
  // Hash encoding.
  int64_t levels = 16;
  int64_t features = 2;
  int64_t log2_table = 18;
  int64_t base_resolution = 16;
  int64_t finest_resolution = 512;  // in the unit cube; larger scenes multiply it by their side length
  // maps a level's points to its entries (reference/hashtable_fwd/table_layout.h)
  std::string hash = "primes";
  std::string interpolation = "linear";  // between the corners of a cell
  std::string table = "fixed";  // or "adaptive": levels start small, grow and shrink (train/adaptive_table.h)
  // adaptive: limit for all levels together; 0: half the entries of a fixed table
  int64_t table_entries = 0;
  int64_t table_begin = 16;    // adaptive: levels start with 2^log2_table entries divided by this
  double table_crowded = 0.5;  // adaptive: a level grows when more than this share of it is in use ...
  double table_sparse = 0.15;  // ... and shrinks when less than this share is
  int64_t table_every = 16;    // adaptive: steps between two checks of the levels
  // adaptive: which crowded levels grow first where room is short; or "gradient": those with the largest gradients
  std::string table_order = "coarse";
  int64_t table_idle = 2048;  // adaptive: steps without a gradient after which an entry is reset
  // Levels that learn in turn, from the coarsest; 0: all from the beginning. (K. Park and others, "Nerfies", 2021, for frequencies.)
  double open_until = 0;   // share of the run after which all do
  int64_t open_first = 4;  // levels that do at the beginning
  double table_rate = 3;   // learning rate of the table, as a multiple of the networks' rate
  // Networks.
  int64_t density_hidden = 1;
  int64_t color_hidden = 2;
  int64_t width = 64;
  int64_t color_width = 0;         // of the color network's layers; 0: width
  int64_t geometry_features = 16;  // outputs of the density network; the first is the log-density
  // what the color network reads of a direction; or "octaves": sines and cosines, as NeRF has them
  std::string directions = "harmonics";
  int64_t sh_degree = 4;          // harmonics
  int64_t direction_octaves = 4;  // octaves
  // Optimizer.
  double learning_rate = 2e-2;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-15;
  double weight_decay = 0;  // L2 on the matrices only; its effect depends on the scale of the loss
  // "cosine" to learning_rate·final_rate over the run (ngp_pl); or multiplied by `decay` from time to time,
  // at "steps" or at "shares" of the run.
  std::string schedule = "cosine";
  double final_rate = 0.01;        //
  double warmup_steps = 0;         // linear from 0 (nerfacc: 100)
  double decay = 0.33;             // "steps": factor ...
  int64_t decay_start = 20000;     // ... at this step ...
  int64_t decay_every = 10000;     // ... and after every this many
  double decay_start_share = 0.4;  // "shares": the same factor from here on (20,000 steps of 50,000)
  double decay_every_share = 0.2;  // and after every such share of the run
  double clip_norm = 0;            // length to which a network's gradient is clipped; 0: no clipping
  // decay of the averaged weights that inference uses; 0: the weights themselves
  double ema = 0.95;
  // Batch.
  int64_t batch_samples = 1 << 15;  // samples with a gradient in a step; the number of rays follows
  int64_t max_samples_per_ray = 1024;
  int64_t first_rays = 256;  // rays of the first step, before anything is measured
  // how pixels are drawn; or "error": in proportion to their loss (train/error_map.h)
  std::string sampling = "uniform";
  double error_share = 0.5;            // share of the draws that follow the error map
  std::string pixel_point = "middle";  // where a ray passes through its pixel; or "anywhere" in it
  // Marching.
  double steps_per_diagonal = 384;  // steps in the diagonal of the unit cube
  double near = 0;                  // distance up to which nothing is sampled; 0: Scene::near
  double far = 0;                   // and from which on; 0: up to the end of the box
  double cone = 1.0 / 256;          // step over distance, for scenes larger than the unit cube
  double early_stop = 1e-4;         // transmittance
  // Occupancy grid.
  int64_t grid = 128;
  double grid_decay = 0.95;
  int64_t grid_every = 32;       // steps between updates
  int64_t grid_warmup = 128;     // steps during which all cells are updated
  double grid_threshold = 0.01;  // on density·step; the mean, if that is smaller
  double grid_fraction = 0.125;  // after the warm-up: this share of the cells uniformly, and as many occupied
  // Loss, besides the weights of its terms.
  std::string loss = "huber";  // "mse" | "huber" | "smooth_l1"
  std::string background =
      "white";  // training: "white" | "black" | "random"; evaluation is on white unless black

  /// Calls visit(name, reference, low, high, unit, meaning) for numbers and visit(name, reference, allowed, meaning) for
  /// strings: the one declaration of each setting.
  template <class Self, class Visit>
  static void fields(Self& c, Visit&& visit) {
    visit("levels", c.levels, 1, 32, "levels", "levels of the hash table");
    visit("features", c.features, 1, 8, "numbers", "numbers of a table entry: 1, 2, 4 or 8");
    visit("log2_table", c.log2_table, 4, 28, "log2 of entries",
          "binary logarithm of a level's entries, at most");
    visit("base_resolution", c.base_resolution, 2, 4096, "points",
          "points along an edge of the coarsest level");
    visit("finest_resolution", c.finest_resolution, 2, 1 << 19, "points",
          "and of the finest, in the unit cube");
    visit("hash", c.hash, "primes morton pcg tiled", "which entry a point of a level has");
    visit("interpolation", c.interpolation, "linear nearest smoothstep", "between the corners of a cell");
    visit("table", c.table, "fixed adaptive", "whether levels keep their size, or grow and shrink");
    visit("table_entries", c.table_entries, 0, int64_t(1) << 28, "entries",
          "adaptive table: entries of all levels together; 0: half of a fixed table's");
    visit("table_begin", c.table_begin, 1, int64_t(1) << 20, "",
          "adaptive table: levels start with 2^log2_table entries divided by this");
    visit("table_crowded", c.table_crowded, 0.01, 1, "share",
          "adaptive table: share in use from which a level grows");
    visit("table_sparse", c.table_sparse, 0, 0.99, "share",
          "adaptive table: share in use below which a level shrinks");
    visit("table_every", c.table_every, 1, int64_t(1) << 30, "steps",
          "adaptive table: steps between two checks of the levels");
    visit("table_order", c.table_order, "coarse gradient",
          "adaptive table: which crowded levels grow first where room is short");
    visit("table_idle", c.table_idle, 1, int64_t(1) << 30, "steps",
          "adaptive table: steps without a gradient after which an entry is reset");
    visit("open_until", c.open_until, 0, 1, "share of the run",
          "share of the run until which levels begin to learn, one after the other from the coarsest; 0: all "
          "at once");
    visit("open_first", c.open_first, 1, 32, "levels", "levels in turn: how many learn from the beginning");
    visit("table_rate", c.table_rate, 1e-3, 1e3, "learning_rate",
          "learning rate of the table, in units of the networks' rate");
    visit("density_hidden", c.density_hidden, 1, 8, "layers", "hidden layers of the density network");
    visit("color_hidden", c.color_hidden, 1, 8, "layers", "hidden layers of the color network");
    visit("width", c.width, 8, 256, "neurons", "neurons of a hidden layer");
    visit("color_width", c.color_width, 0, 256, "neurons", "those of the color network; 0: as the others");
    visit("geometry_features", c.geometry_features, 1, 64, "numbers",
          "outputs of the density network; the first is the logarithm of the density");
    visit("directions", c.directions, "harmonics octaves", "what the color network reads of a direction");
    visit("sh_degree", c.sh_degree, 1, 4, "", "directions harmonics: degree of the spherical harmonics");
    visit("direction_octaves", c.direction_octaves, 1, 16, "octaves",
          "directions octaves: sines and cosines of doubling frequencies");
    visit("learning_rate", c.learning_rate, 1e-9, 1, "", "learning rate at the start");
    visit("beta1", c.beta1, 0, 0.9999999, "", "decay of Adam's first moment, a step");
    visit("beta2", c.beta2, 0, 0.9999999, "", "decay of Adam's second moment, a step");
    visit("epsilon", c.epsilon, 1e-30, 1, "", "Adam's summand in the denominator");
    visit("weight_decay", c.weight_decay, 0, 1, "", "L2 on the matrices");
    visit("schedule", c.schedule, "cosine steps shares", "how the learning rate falls");
    visit("final_rate", c.final_rate, 0, 1, "learning_rate",
          "factor on the learning rate at the end, after a cosine");
    visit("warmup_steps", c.warmup_steps, 0, 1e6, "steps", "steps of a linear rise of the learning rate");
    visit("decay", c.decay, 1e-6, 1, "", "schedules steps and shares: factor of a decay");
    visit("decay_start", c.decay_start, 0, int64_t(1) << 40, "steps",
          "schedule steps: step of the first decay");
    visit("decay_every", c.decay_every, 1, int64_t(1) << 40, "steps",
          "schedule steps: steps from one decay to the next");
    visit("decay_start_share", c.decay_start_share, 0, 1, "share of the run",
          "schedule shares: share of the run at the first decay");
    visit("decay_every_share", c.decay_every_share, 1e-3, 1, "share of the run",
          "schedule shares: share of the run from one decay to the next");
    visit("clip_norm", c.clip_norm, 0, 1e6, "",
          "length to which a network's gradient is clipped; 0: no clipping");
    visit("ema", c.ema, 0, 0.99999, "",
          "decay of the averaged weights that pictures use; 0: the weights themselves");
    visit("batch_samples", c.batch_samples, 256, int64_t(1) << 24, "samples",
          "samples with a gradient in a step");
    visit("max_samples_per_ray", c.max_samples_per_ray, 1, 4096, "samples", "samples of a ray, at most");
    visit("first_rays", c.first_rays, 1, 1 << 22, "rays", "rays of the first step");
    visit("sampling", c.sampling, "uniform error", "how pixels are drawn: all alike, or by their error");
    visit("error_share", c.error_share, 0, 0.95, "share",
          "sampling error: share of the draws that follow the error");
    visit("pixel_point", c.pixel_point, "middle anywhere", "where a ray passes through its pixel");
    visit("steps_per_diagonal", c.steps_per_diagonal, 8, 65536, "steps",
          "steps of a ray in the diagonal of the unit cube");
    visit("near", c.near, 0, 8, "cube sides",
          "distance from the camera up to which nothing is sampled, in sides of the unit cube; 0: as the "
          "scene says");
    visit("far", c.far, 0, 1000, "cube sides",
          "distance from the camera behind which nothing is sampled, in sides of the unit cube; 0: no such "
          "distance");
    visit("cone", c.cone, 0, 1, "step / distance",
          "step over distance, for scenes larger than the unit cube");
    visit("early_stop", c.early_stop, 0, 0.5, "share of the light", "transmittance at which a ray ends");
    visit("grid", c.grid, 8, 512, "cells", "cells along an edge of the grid");
    visit("grid_decay", c.grid_decay, 0, 1, "", "factor on a cell's value at an update");
    visit("grid_every", c.grid_every, 1, 1 << 30, "steps", "steps between two updates of the grid");
    visit("grid_warmup", c.grid_warmup, 0, 1 << 30, "steps", "steps during which all cells are updated");
    visit("grid_threshold", c.grid_threshold, 0, 1e6, "density · step",
          "density times step from which a cell is occupied");
    visit("grid_fraction", c.grid_fraction, 0, 1, "share",
          "share of the cells that an update chooses at random, and as many occupied ones");
    visit("loss", c.loss, "mse huber smooth_l1", "what a difference of colors costs");
    visit("background", c.background, "white black random", "behind transparent pixels, in training");
    weights(c, visit);
  }

  /// Throws std::invalid_argument naming the field for combinations that make no sense (width not a multiple
  /// of 8, features not 1, 2, 4 or 8, a grid that is no power of two, finest below base, a level that would
  /// shrink after it has grown).
  void validate() const;
};

/// Returns how many numbers the color network reads of a direction.
inline int64_t direction_features(const Config& c) {
  return c.directions == "octaves" ? 6 * c.direction_octaves : c.sh_degree * c.sh_degree;
}

/// Converts names to the ops' numbers: "mse", "huber" and "smooth_l1"; "black", "white" and "random".
inline int64_t loss_kind(std::string_view loss) { return loss == "mse" ? 0 : loss == "huber" ? 1 : 2; }
inline int64_t background_kind(std::string_view background) {
  return background == "black" ? 0 : background == "white" ? 1 : 2;
}

/// Reads a JSON object; missing keys keep their defaults. Throws std::runtime_error for unknown keys, wrong
/// types and values out of range, naming file, key, the allowed values, and for an unknown key the nearest
/// known one.
Config read_config(const std::filesystem::path& file);
Config config_from_json(const std::string& text, const std::string& where);
std::string config_to_json(const Config& config);

}  // namespace klab
