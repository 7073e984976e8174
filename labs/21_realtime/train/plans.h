// The ladder of lab 21: plans that draw one field faster and faster, each made from its parent by one change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "labs/21_realtime/train/pixel_source.h"
#include "labs/radiance/evaluate/field_model.h"

namespace klab {

/// How far pictures of a plan may be from those of its parent: by a bound on every number, or by what was seen of scenes and
/// is stated as a PSNR.
struct PlanLoss {
  double largest = 0;  // difference of a color, 0 to 1; 0 with no PSNR: the same bits
  double psnr = 0;     // dB, at least; 0: the bound holds
};

/// A plan for pictures of one model.
struct FramePlan {
  std::string name;         // "02_early_stop"
  std::string parent = {};  // empty for the first
  std::string change = {};  // what is skipped or given up
  PlanLoss loss = {};       // against the parent
  /// Draws the next picture of a path of cameras.
  std::function<Picture(const Camera&)> draw = {};
  /// Forgets earlier pictures: a new path begins. Empty: the plan has no memory.
  std::function<void()> begin = {};
  /// Returns the share of its pixels that the last picture computed. Empty: all.
  std::function<double()> computed = {};
  int64_t held_bytes = 0;  // of the numbers that pictures are made of
};

struct FramePlanOptions {
  std::string rungs = "best";   // best, last, naive, or a plan's file
  int64_t cells = 256;          // of the baked grid along an edge, a power of two
  int64_t sh_degree = 1;        // of its colors, 0 or 1
  double stop = 1e-3;           // transmittance at which rays through baked voxels end
  int every = 8;                // frames in which each pixel is computed once: a power of two up to 16
  double share = 0.25;          // of the pixels that foveation computes
  double gaze[2] = {0.5, 0.5};  // its middle, as a share of width and height
  /// The plans that are made besides the first, by number, name or both: "07", "baked", "07_baked". Empty: all.
  std::vector<std::string> only = {};
};

/// Returns the names of the plans that these options choose for a kind of field. Throws std::runtime_error naming the field for
/// one that no plan draws, and std::invalid_argument naming the option for a number or a plan that there is none of.
std::vector<std::string> frame_plan_names(const std::string& field, const FramePlanOptions& options);

/// Returns the chosen plans for a model, which must outlive them. Says on `say` what takes a while. Throws what
/// frame_plan_names() throws, and std::runtime_error for voxels that cannot be read as bytes.
std::vector<FramePlan> frame_plans(const FieldModel& model, const FramePlanOptions& options, CallTimes& times,
                                   const std::function<void(const std::string&)>& say);

}  // namespace klab
