// The pictures that a training learns from, as the op draw_rays takes them: in the host's memory where they are, or copied.
#pragma once

#include "labs/radiance/field/model.h"
#include "labs/radiance/train/runner.h"

namespace klab {

/// How much there is of what draw_rays reads.
struct ViewData {
  int64_t views = 0, pixels = 0;
  int64_t listed = 0;  // pixels in lists of those that have a ray
  bool depth = false;  // pixels have their true depth
};
ViewData view_data_of(const Scene& scene);

/// Throws std::invalid_argument when the scene has no view to train on.
const Scene& with_views(const Scene& scene);

Placement placement_of(const Scene& scene, bool black);

/// The tensors of an arena that hold it.
struct ViewTensors {
  float* cameras;     // [views,20]
  int64_t* places;    // [views,DrawRays::kPlace]
  uint8_t* image;     // [pixels,4]
  int32_t* seen;      // [listed]
  float* true_depth;  // [pixels], or nothing
};

ViewTensors declare_views(Arena& arena, const ViewData& data);

/// What draw_rays leaves.
struct DrawnRays {
  int64_t rays;  // symbol
  float *origins, *directions, *jitter, *backdrop, *color, *depth;
};

class ViewLoader {
 public:
  /// The scene must outlive the runner that it is tied to.
  ViewLoader(const Scene& scene, const ViewTensors& tensors) : scene_(scene), t_(tensors) {}
  /// Before the runner allocates: pictures in the host's memory stay where they are, found by how far they are from the first.
  void tie(Runner& runner) const;
  /// After that.
  void write(Runner& runner) const;

 private:
  const Scene& scene_;
  ViewTensors t_;
};

}  // namespace klab
