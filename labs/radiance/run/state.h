// What a checkpoint knows of its run beside the trainer's own state, and what becomes of the command line when a run is
// gone on with.
#pragma once

#include <array>
#include <map>
#include <string>

#include "harness/records/tensor_file.h"
#include "labs/radiance/run/run.h"

namespace klab {

/// A run as its checkpoint has it.
struct RunState {
  std::filesystem::path scene;           // absolute, or built-in
  std::filesystem::path scene_from_run;  // the same from the run's folder; empty where not recorded
  int downscale = 1, holdout = 8;
  uint64_t seed = 1;
  VariantIds plan;
  std::string precision = "f32";    // RunOptions::precision
  LossScaleSettings loss_scale;     // of f16
  std::string ladder = "cpu";       // that the plan's rungs are of, "cpu" or "cuda"
  double seconds = 0, samples = 0;  // of training so far
  double budget_seconds = 0;        // 0: none
  int64_t budget_steps = 0;
  std::array<int64_t, 4>
      views{};  // for training, for testing, and the first one's width and height; 0: not recorded
};

/// For the metadata of a checkpoint.
std::map<std::string, std::string> to_metadata(const RunState& state);

/// Throws std::runtime_error naming the file and what is damaged.
RunState run_state_in(const TensorFile& checkpoint);

/// Counts of views and their size, as in RunState.
std::array<int64_t, 4> views_of(const Scene& scene);

/// Where the scene of a resumed run is: --scene, or where it was, or in the same place beside the run's folder. Throws
/// std::runtime_error when what the command line says contradicts the run: another scene, seed, downscale or holdout; the
/// message names the option.
std::string resumed_scene(const RunOptions& given, const RunState& run);

/// Throws std::runtime_error when what was read is not the scene that the run began with.
void require_same_scene(const RunState& run, const Scene& scene, const std::string& where);

}  // namespace klab
