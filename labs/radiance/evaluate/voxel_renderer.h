// Makes pictures of voxels with a program of ops, on any backend.
#pragma once

#include "labs/radiance/evaluate/list_pictures.h"
#include "labs/radiance/train/backends.h"
#include "labs/radiance/train/voxel_step.h"

namespace klab {

class VoxelRenderer {
 public:
  /// The model must outlive it. `plan` is one of voxel_calls(). Throws std::runtime_error or std::bad_alloc
  /// if there is too little memory.
  VoxelRenderer(const VoxelModel& model, const Plan& plan, const BackendChoice& where);
  Picture render(const Camera& camera) { return pictures_.render(camera, plan_, profile_); }
  const Profile& profile() const { return profile_; }
  /// Returns the memory that pictures take: on the processor without the model's own arrays, which are used in place.
  static int64_t bytes_of(const VoxelModel& model, const BackendChoice& where);

 private:
  Plan plan_;
  VoxelConfig config_;
  Memory memory_;
  VoxelStep programs_;
  ListPictures pictures_;
  Profile profile_;
};

}  // namespace klab
