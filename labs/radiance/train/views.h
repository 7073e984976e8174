// The training pictures, as inputs of draw_rays: in place in the host's memory, or copied.
#pragma once

#include <optional>

#include "harness/program/tensors.h"
#include "labs/radiance/field/model.h"
#include "labs/radiance/train/picture_pool.h"

namespace klab {

/// Sizes of draw_rays' inputs.
struct ViewData {
  int64_t views = 0, pixels = 0;
  int64_t listed = 0;  // pixels in lists of those that have a ray
  bool depth = false;  // pixels have their true depth
};
/// Returns the sizes; with a pool, those of the resident pictures.
ViewData view_data_of(const Scene& scene, const PicturePool* pool = nullptr);

/// Throws std::invalid_argument when the scene has no view to train on.
const Scene& with_views(const Scene& scene);

/// Returns where a model of a scene lies. Throws std::invalid_argument if rays end at `far` (0: nowhere) before they begin.
Placement placement_of(const Scene& scene, bool black, double near = 0, double far = 0);

/// The tensors that hold the pictures.
struct ViewTensors {
  Handle<float> cameras;     // [views,20]
  Handle<int64_t> places;    // [views,DrawRays::kPlace]
  Handle<uint8_t> image;     // [pixels,4]
  Handle<int32_t> seen;      // [listed]
  Handle<float> true_depth;  // [pixels], or nothing
};

ViewTensors declare_views(Memory& memory, const ViewData& data);

/// Outputs of draw_rays.
struct DrawnRays {
  Count rays;
  Handle<float> origins, directions, jitter, backdrop, color, depth;
};

class ViewLoader {
 public:
  /// The scene must outlive the memory, and so must the pool, which holds the pictures that rays are drawn
  /// from; null: all pictures of the scene are in memory.
  ViewLoader(const Scene& scene, const ViewTensors& tensors, const PicturePool* pool = nullptr)
      : scene_(scene), t_(tensors), pool_(pool) {}
  /// Ties the pictures before memory is allocated: those in the host's memory stay in place, addressed by
  /// their distance from the first.
  void tie(Memory& memory) const;
  /// Writes the tensors after memory was allocated.
  void write(Memory& memory) const;
  /// Loads a picture of the pool, resident or coming, concurrently with the calls. Does nothing if the host's
  /// memory is used.
  void load_picture(Memory& memory, const PicturePool::Place& place) const;
  /// What is where. After turns of the pool, when their pictures are loaded: of one place, which is little enough that no host waits.
  void write_places(Memory& memory, std::optional<size_t> place = {}) const;

 private:
  void load_own_pictures(Memory& memory) const;

  const Scene& scene_;
  ViewTensors t_;
  const PicturePool* pool_;
};

}  // namespace klab
