// What all parts of a training run share: its options, where it runs, and what has been read and chosen so far.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "harness/gpu/gpu.h"
#include "harness/program/counted_bytes.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/run/budget.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/run_clock.h"
#include "labs/radiance/run/score_scope.h"
#include "labs/radiance/run/state.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/picture_pool.h"

namespace klab {

/// The page that messages name: what to look at when a training goes wrong, and which setting changes it.
inline constexpr const char* kTroubleshooting = "docs/troubleshooting.md";

struct RunContext {
  RunContext(RunOptions given, CallTimes& times);
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  /// Returns the parts of a step's batch, over all processes.
  int64_t parts() const { return options.parts.value_or(ranks.size()); }
  /// Names the checkpoint to resume from, for the message of an error.
  std::string resume_hint() const;
  /// Returns where pictures are made, and by which plan: the host executor needs seconds for a picture; klab eval --backend simt shows them.
  BackendChoice place_of_pictures() const;
  std::optional<Plan> plan_of_pictures() const;
  /// Makes pictures while the run trains. On another backend nothing is timed for it.
  PictureMaker picture_maker(const FieldModel& model) const;
  void set_rates(FieldTrainer& trainer) const { trainer.scale_rates(rate_factor * state.plateau_factor); }

  Ranks& ranks = Ranks::here();
  RunOptions options;
  CallTimes& times;
  FILE* out;  // text for the user; null device on all ranks except the first
  const BackendChoice place;
  const OnGpu on_a_gpu;  // checks which rungs are supported
  std::optional<RunFolder> folder;
  std::string shared_folder;  // of the first rank
  RunState state;
  Scene scene;
  ScoreScope scope;
  MemoryBudget budget;
  MemoryPlan memory;
  std::optional<PicturePool> pool;
  std::optional<CountedBytes> pictures;  // those of the scene, where they do not take turns
  std::optional<Plan> plan;
  RunClock clock;
  double rate_factor = 1;  // on the learning rates, after steps that were not finite
};

}  // namespace klab
