// A trained field of any kind, as evaluation and rendering use it: a source of pictures.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/crop.h"
#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/field/frequency.h"
#include "labs/radiance/field/voxels.h"
#include "labs/radiance/train/backends.h"

namespace klab {

struct GaussianModel;

/// Makes pictures of a model, and knows what the calls of its ops took.
struct FieldPictures {
  std::function<Picture(const Camera&)> make;
  std::function<const Profile&()> profile;  // of all pictures so far
  Picture operator()(const Camera& camera) const { return make(camera); }
};

class FieldModel {
 public:
  virtual ~FieldModel() = default;
  /// Returns the kind of field, "hash" for example.
  virtual std::string field() const = 0;
  virtual const Placement& placement() const = 0;
  virtual int64_t bytes() const = 0;  // size of the learned parameters
  /// Returns the format of the learned numbers in memory: floats, or for pictures alone f16, bf16 or int8.
  virtual Storage precision() const { return Storage::f32; }
  virtual int64_t numbers() const = 0;  // learned ones
  /// Returns the bytes that these take in memory, with their scales and without grids and links.
  virtual int64_t held_bytes() const = 0;
  virtual void save(const std::filesystem::path& file) const = 0;
  /// Returns the calls that make a picture, for a plan.
  virtual std::vector<PlannedCall> picture_calls(const BackendChoice& where) const = 0;
  /// Returns the memory that drawing `pixels` at a time takes: on the processor on top of the model, on another backend its copy
  /// included. 0: the field draws a picture as a whole.
  virtual int64_t piece_bytes(const BackendChoice& where, int64_t pixels) const = 0;
  /// Returns what makes pictures while this object lives, `pixels` at a time if the field supports
  /// that. Throws std::runtime_error or std::bad_alloc if the backend has too little memory.
  virtual FieldPictures renderer(const Plan& plan, const BackendChoice& where, int64_t pixels) const = 0;
  /// Returns the model of a hash field, whose pictures can be drawn in stretches (picture_queue.h); null for
  /// other fields.
  virtual const Model* as_hash() const { return nullptr; }
  /// Return the models of the other fields; null for those of another kind.
  virtual const VoxelModel* as_voxels() const { return nullptr; }
  virtual const FrequencyModel* as_frequency() const { return nullptr; }
  virtual const GaussianModel* as_gaussians() const { return nullptr; }
  /// Asks for the depth of pictures where it costs extra: that of Gaussians. Other fields compute it anyway.
  void ask_for_depth(bool asked = true) { depth_asked_ = asked; }
  /// Crops pictures to a box, as finely as the field has cells or Gaussians; the box replaces an earlier one. Renderers
  /// have to be made after it. Returns false and changes nothing for a field that cannot be cropped.
  virtual bool keep_inside(const GridBox&) { return false; }

 protected:
  bool depth_asked_ = false;
};

std::unique_ptr<FieldModel> field_model(Model model);
std::unique_ptr<FieldModel> field_model(VoxelModel model);
std::unique_ptr<FieldModel> field_model(FrequencyModel model);

}  // namespace klab
