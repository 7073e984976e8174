// The kinds of field that klab train knows, each with its settings, trainer and model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/splat/gaussian_field.h"
#include "labs/radiance/train/field_trainer.h"
#include "labs/radiance/train/trainer.h"

namespace klab {

/// The chosen field and the settings of each; settings of the others keep their defaults.
struct FieldSettings {
  std::string field = "hash";
  /// "f32", "bf16" or "f16": type of tensors between a step's ops and of the factors of its products. For the
  /// hash field only.
  std::string precision = "f32";
  LossScaleSettings loss_scale;  // for f16
  bool on_a_gpu = false;         // its rungs are CUDA's, on any backend
  Config hash;
  FrequencyConfig frequency;
  VoxelConfig voxels;
  GaussianConfig gaussians;
};

/// Returns "hash", "voxels", ...
std::vector<std::string> field_names();
/// Throws std::invalid_argument, listing the known fields, for an unknown one.
void require_field(const std::string& field);
/// Throws std::runtime_error if the field or its settings are not supported on that backend.
void require_backend(const FieldSettings& settings, const std::string& backend);
/// Throws std::runtime_error if the settings need all pictures in memory and pictures are to take turns.
void require_turns(const FieldSettings& settings);
/// Returns the field of a model's or a checkpoint's file. Throws std::runtime_error naming the file if it has
/// no known field.
std::string field_of(const TensorFile& file);

/// Reads settings of a field from JSON. Throws like settings_from_json(); the message names the field that an
/// unknown setting belongs to.
FieldSettings field_settings(const std::string& field, const std::string& json, const std::string& where);
std::string to_json_text(const FieldSettings& settings);

/// Returns the calls of training, and of the evaluation pictures if both run on the processor's ladder.
std::vector<PlannedCall> run_calls(const FieldSettings& settings, int cascades, const std::string& ladder);
/// Returns the most memory of a trainer, and of a model. Includes the pictures if the backend keeps a copy of
/// them.
int64_t trainer_bytes(const FieldSettings& settings, const Scene& scene, const BackendChoice& place);
int64_t model_bytes(const FieldSettings& settings, int cascades);
/// Returns the time of a pixel of a field that has learned, as a share of that before it has.
double learned_share(const FieldSettings& settings, int cascades);
/// Returns the samples with a gradient that a step aims at.
int64_t batch_samples(const FieldSettings& settings);
/// Returns whether the loss has a term of measured depth.
bool weighs_depth(const FieldSettings& settings);
/// Names the settings of the learning rates: "learning_rate", with quotes.
std::string rates_of(const FieldSettings& settings);
/// Names the settings to lower if memory is short.
std::string remedy_of(const FieldSettings& settings);
/// Returns the number of grid cells that are all evaluated now and then; 0 without a grid.
int64_t grid_cells(const FieldSettings& settings, int cascades);

/// Options that only some trainers support: pictures that take turns (hash), and a batch in parts, which
/// several processes may share.
struct TrainerExtras {
  PicturePool* pool = nullptr;
  BatchShare share;
};
inline constexpr const char* kFieldOfExtras = "hash";

/// Returns how many neighboring parameters move together, for each table that a field learns, in the order of
/// its gradients. Several processes may each update a part of a table. Empty: all parameters move as a whole.
std::vector<int64_t> table_groups(const FieldSettings& settings);

/// Returns why a field cannot compute its batch in parts; empty if it can.
std::string no_parts_because(const FieldSettings& settings);

/// Throws std::logic_error for unsupported extras.
std::unique_ptr<FieldTrainer> make_trainer(const FieldSettings& settings, const Scene& scene,
                                           const Plan& plan, uint64_t seed, const BackendChoice& place,
                                           const TrainerExtras& extras = {});
/// Returns the present model of a trainer of this field. It does not depend on the trainer's lifetime.
std::unique_ptr<FieldModel> trained_model(const FieldSettings& settings, const FieldTrainer& trainer);

/// Reads a model's file, a snapshot of instant-ngp, or Gaussians from a .ply, .splat, .spz or .sog. Those of other programs, and all but .ply, do not say where
/// they lie: they are put into the scene's box, if one is given. Throws std::runtime_error naming the file: like
/// TensorFile, for an unknown field, and like the field's own reader.
/// Numbers are floats in memory, or have the `precision` that load_precision() allowed. `notes` receives what a file of Gaussians has
/// that is passed over or was changed.
std::unique_ptr<FieldModel> load_field_model(const std::filesystem::path& file, const Scene* scene = nullptr,
                                             Storage precision = Storage::f32,
                                             std::vector<std::string>* notes = nullptr);

/// Reads Gaussians of another program of which no scene is known, into a place made for them: nine tenths of those that are seen lie within
/// the unit cube, and their y, which points down in such files, is the grid's z turned over. Throws like load_field_model().
std::unique_ptr<FieldModel> load_lone_gaussians(const std::filesystem::path& file,
                                                std::vector<std::string>* notes);

/// Returns the precision in which pictures hold a file's numbers: the one named, "f32", "bf16", "f16" or "int8"; of an empty name
/// that of the file, or f32 where no field has that in memory. Throws std::invalid_argument for another name, and
/// std::runtime_error naming the field if its numbers are floats only.
Storage load_precision(const std::string& name, const std::filesystem::path& file);

/// Returns the precision of that name, "f32", "bf16", "f16" or "int8". Throws std::invalid_argument for another.
Storage precision_named(const std::string& name);

/// Returns a copy of a model of floats for pictures, with its numbers rounded to fewer bits in memory. Throws std::runtime_error
/// naming the field if its numbers are floats only, and for a number that the format does not have.
std::unique_ptr<FieldModel> in_fewer_bits(const FieldModel& model, Storage precision);

/// Returns whether load_field_model() takes a file for Gaussians in a scene's own world.
bool is_gaussian_file(const std::filesystem::path& file);

}  // namespace klab
