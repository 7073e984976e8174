// Times and scores of plans of pictures, along paths of cameras.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "harness/timing/statistics.h"
#include "labs/21_realtime/train/plans.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

/// Cameras that follow each other; the true picture of the last one, where it is known.
struct FramePath {
  std::vector<Camera> cameras;
  const View* last = nullptr;
};

/// Returns a path of `frames` cameras that ends at a view: on a circle around the vertical axis through the middle of the box,
/// `degrees` from one to the next.
FramePath path_to(const View& view, int frames, double degrees);

/// What was measured of a plan.
struct PlanFrames {
  std::vector<double> seconds;  // of a frame, one for each round
  std::optional<double> psnr;   // dB against the true pictures, mean over paths; none without them
  std::optional<double>
      apart;            // dB against the first plan, mean over frames; none for the first; infinite: equal
  double computed = 1;  // share of the pixels, mean over frames
};

/// Draws all paths with all plans: `rounds` rounds of each path, plans taking turns in each. The first frame of a path is
/// drawn, and neither timed nor scored: a plan with a memory has none yet. Ends between two plans when `stop` says so, and
/// keeps whole rounds only. `progress` says what is being drawn; `each` gets the last picture of each plan of the first path.
std::vector<PlanFrames> measure_frames(
    std::vector<FramePlan>& plans, const std::vector<FramePath>& paths, int rounds, bool black,
    const std::function<bool()>& stop, const std::function<void(const std::string&)>& progress,
    const std::function<void(const FramePlan&, const FramePath&, const Picture&)>& each);

/// A row of the table, and of the file.
struct PlanRow {
  std::string plan, parent, change;
  Estimate frames_per_second;
  std::optional<Estimate> over_first, over_parent;  // speedups, taken round by round
  std::optional<double> psnr, apart;                // as of PlanFrames
  double computed = 1;
  int64_t held_bytes = 0;
};

std::vector<PlanRow> rows_of(const std::vector<FramePlan>& plans, const std::vector<PlanFrames>& measured);

}  // namespace klab
