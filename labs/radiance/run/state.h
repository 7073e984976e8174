// The state of a run that a checkpoint keeps in addition to the trainer's, and its merge with the command
// line when the run is resumed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "harness/records/tensor_file.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/score_scope.h"

namespace klab {

/// A run as its checkpoint describes it.
struct RunState {
  std::filesystem::path scene;  // absolute, or built-in
  // path of the scene relative to the run's folder; empty if not recorded
  std::filesystem::path scene_from_run;
  int downscale = 1, holdout = 8;
  uint64_t seed = 1;
  VariantIds plan;
  std::string precision = "f32";    // RunOptions::precision
  LossScaleSettings loss_scale;     // for f16
  std::string ladder = "cpu";       // ladder of the plan's rungs, "cpu" or "cuda"
  double seconds = 0, samples = 0;  // of training so far
  double budget_seconds = 0;        // 0: none
  double score = kScoreSeconds;     // ScoreScope::seconds
  double plateau_factor = 1;        // on the learning rates, by RunOptions::plateau
  int64_t budget_steps = 0;
  std::array<int64_t, 4>
      views{};  // training views, test views, and width and height of the first one; 0: not recorded
};

/// Returns the metadata of a checkpoint.
std::map<std::string, std::string> to_metadata(const RunState& state);

/// Throws std::runtime_error naming the file and the damage.
RunState run_state_in(const TensorFile& checkpoint);

/// Returns the counts of views and their size, as in RunState.
std::array<int64_t, 4> views_of(const Scene& scene);

/// Returns the place of a resumed run's scene: --scene, or the recorded path, or the same place relative to
/// the run's folder. Throws std::runtime_error naming the option if the command line contradicts the run:
/// another scene, seed, downscale or holdout.
std::string resumed_scene(const RunOptions& given, const RunState& run);

/// Returns the place of a run's scene as recorded, or the same place relative to the run's folder; nothing if it is at
/// neither.
std::optional<std::string> recorded_scene(const RunState& run, const std::filesystem::path& folder);

/// Returns whether a scene named on the command line is the run's.
bool is_scene_of(const RunState& run, const std::string& given);

/// Throws std::runtime_error if the scene differs from the one that the run began with.
void require_same_scene(const RunState& run, const Scene& scene, const std::string& where);

}  // namespace klab
