// The pictures that a trainer learns from, where not all of them are in memory: which of them, and when they change.
#pragma once

#include "harness/program/profile.h"
#include "labs/radiance/train/views.h"

namespace klab {

class PictureTurns {
 public:
  /// Steps from one turn of the pool's pictures to the next.
  static constexpr int64_t kEvery = 8;
  /// Turns whose pictures a backend with memory of its own may have in advance.
  static constexpr int64_t kLoaded = 2;

  /// Both must outlive it; null: all pictures of the scene are in memory.
  PictureTurns(const Scene& scene, PicturePool* pool) : scene_(scene), pool_(pool) {}

  ViewData data() const { return view_data_of(scene_, pool_); }
  /// Ties the pictures to a step's tensors, allocates the step's memory and writes the pictures.
  void allocate(Memory& memory, const ViewTensors& tensors);
  /// Makes the turns that are due before a step.
  void turn_to(int64_t step, Memory& memory, const ViewTensors& tensors, Profile& profile);

 private:
  void load_ahead(const ViewLoader& views, Memory& memory, Profile& profile);

  const Scene& scene_;
  PicturePool* pool_;
  int64_t loaded_ = 0;  // turns of the pool whose pictures the backend has or is loading
};

}  // namespace klab
