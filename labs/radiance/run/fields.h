// The ways to hold a scene that klab train knows, each with its settings, its trainer and its model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/splat/gaussian_field.h"
#include "labs/radiance/train/field_trainer.h"
#include "labs/radiance/train/trainer.h"

namespace klab {

/// Which field, and the settings of each; those of the others keep their defaults.
struct FieldSettings {
  std::string field = "hash";
  /// "f32", "bf16" or "f16": of tensors between a step's ops and of the factors of its products. Of the hash field only.
  std::string precision = "f32";
  LossScaleSettings loss_scale;  // of f16
  bool on_a_gpu = false;         // its rungs are CUDA's, on whatever backend
  Config hash;
  FrequencyConfig frequency;
  VoxelConfig voxels;
  GaussianConfig gaussians;
};

/// "hash", "voxels", ...
std::vector<std::string> field_names();
/// Throws std::invalid_argument, for what is none, with those that are.
void require_field(const std::string& field);
/// Throws std::runtime_error where a field, or what its settings ask for, is not trained on that backend.
void require_backend(const FieldSettings& settings, const std::string& backend);
/// Throws std::runtime_error where a field's settings need all pictures in memory, and they are to take turns.
void require_turns(const FieldSettings& settings);
/// That of a model's or a checkpoint's file. Throws std::runtime_error naming the file where it is none that is known.
std::string field_of(const TensorFile& file);

/// Settings of a field from JSON. Throws as settings_from_json(); a setting of another field is said to be that.
FieldSettings field_settings(const std::string& field, const std::string& json, const std::string& where);
std::string to_json_text(const FieldSettings& settings);

/// Of training, and of the pictures that evaluate it where both run on the processor's ladder.
std::vector<PlannedCall> run_calls(const FieldSettings& settings, int cascades, const std::string& ladder);
/// Memory of a trainer, and of a model at most; with the pictures where the backend does not use them in the host's memory.
int64_t trainer_bytes(const FieldSettings& settings, const Scene& scene, const BackendChoice& place);
int64_t model_bytes(const FieldSettings& settings, int cascades);
/// Samples with a gradient that a step aims at.
int64_t batch_samples(const FieldSettings& settings);
/// Which settings to lower where that is too much.
std::string remedy_of(const FieldSettings& settings);
/// Of a grid that is looked at as a whole now and then; 0 where there is none.
int64_t grid_cells(const FieldSettings& settings, int cascades);

/// What not every field's trainer knows: pictures that take turns (hash), and a batch in parts, which several processes may share.
struct TrainerExtras {
  PicturePool* pool = nullptr;
  BatchShare share;
};
inline constexpr const char* kFieldOfExtras = "hash";

/// Of the tables that a field learns, in the order of its gradients: how many neighboring parameters move together. Several processes
/// may each move a part of them. Empty: what it learns moves as a whole.
std::vector<int64_t> table_groups(const FieldSettings& settings);

/// Why a field does not compute its batch in parts; empty: it does.
std::string no_parts_because(const FieldSettings& settings);

/// Throws std::logic_error for extras that a field does not know.
std::unique_ptr<FieldTrainer> make_trainer(const FieldSettings& settings, const Scene& scene,
                                           const Plan& plan, uint64_t seed, const BackendChoice& place,
                                           const TrainerExtras& extras = {});
/// The model that a trainer of this field has come to. The trainer's run may end.
std::unique_ptr<FieldModel> trained_model(const FieldSettings& settings, const FieldTrainer& trainer);

/// Throws std::runtime_error naming the file: as TensorFile, for a field that is none of klab's, and as the field's own reader.
std::unique_ptr<FieldModel> load_field_model(const std::filesystem::path& file);

}  // namespace klab
