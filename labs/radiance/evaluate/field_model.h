// A trained field of any kind, as evaluation and rendering see it: it makes pictures.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/field/frequency.h"
#include "labs/radiance/field/voxels.h"
#include "labs/radiance/train/backends.h"

namespace klab {

class FieldModel {
 public:
  virtual ~FieldModel() = default;
  /// "hash".
  virtual std::string field() const = 0;
  virtual const Placement& placement() const = 0;
  virtual int64_t bytes() const = 0;  // of what was learned
  virtual void save(const std::filesystem::path& file) const = 0;
  /// The calls that pictures are made of, for a plan.
  virtual std::vector<PlannedCall> picture_calls(const BackendChoice& where) const = 0;
  /// Makes pictures as long as this lives, so many pixels at a time where that can be chosen. Throws std::runtime_error when the
  /// backend has too little memory.
  virtual std::function<Picture(const Camera&)> renderer(const Plan& plan, const BackendChoice& where,
                                                         int64_t pixels) const = 0;
  /// The model of a hash field, whose pictures can be drawn in stretches (picture_queue.h); null: it is another.
  virtual const Model* as_hash() const { return nullptr; }
};

std::unique_ptr<FieldModel> field_model(Model model);
std::unique_ptr<FieldModel> field_model(VoxelModel model);
std::unique_ptr<FieldModel> field_model(FrequencyModel model);

}  // namespace klab
