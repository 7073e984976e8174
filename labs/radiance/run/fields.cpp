#include "labs/radiance/run/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "harness/core/registry.h"
#include "harness/core/select.h"
#include "harness/records/refused.h"
#include "labs/radiance/field/settings.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/field/stored.h"
#include "labs/radiance/splat/ply.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/train/frequency_trainer.h"
#include "labs/radiance/train/voxel_trainer.h"

namespace klab {
namespace {

/// Properties of a kind of field.
struct Kind {
  const char* name;
  const char* file;  // value of "klab" in the metadata of its files
  const char* remedy;
  const char* rates;  // its learning rates
  int64_t (*batch)(const FieldSettings&);
  std::vector<DeclaredSetting> (*settings)();
  void (*read)(FieldSettings&, const std::string& json, const std::string& where,
               const std::function<std::string(const std::string&)>& elsewhere);
  std::string (*write)(const FieldSettings&);
  std::vector<PlannedCall> (*training)(const FieldSettings&, int cascades);
  // do not affect the choice of rungs
  std::vector<PlannedCall> (*pictures)(const FieldSettings&, int cascades);
  int64_t (*trainer_bytes)(const FieldSettings&, const Scene&, const BackendChoice&);
  int64_t (*model_bytes)(const FieldSettings&, int cascades);
  std::unique_ptr<FieldTrainer> (*trainer)(const FieldSettings&, const Scene&, const Plan&, uint64_t seed,
                                           const BackendChoice&, const TrainerExtras&);
  std::unique_ptr<FieldModel> (*trained)(const FieldTrainer&);
  std::unique_ptr<FieldModel> (*load)(const std::filesystem::path&, Storage precision);
  const char* floats_because = "";  // why pictures hold its numbers as floats only; empty: they need not
  std::vector<int64_t> (*groups)(const FieldSettings&) = nullptr;  // of the tables that it learns
  // why its batch cannot be computed in parts
  const char* no_parts = "";
};

template <auto member, class Settings>
void read_into(FieldSettings& into, const std::string& text, const std::string& where,
               const std::function<std::string(const std::string&)>& elsewhere) {
  into.*member = settings_from_json<Settings>(text, where, elsewhere);
}

StepPrecision precision_of(const FieldSettings& s) {
  if (s.precision != "f16") return {};
  return {.formats = s.on_a_gpu ? half_formats_on_a_gpu() : half_formats(), .scale = s.loss_scale};
}

/// Returns the parameters of a call of Adam: all of them on a GPU, in one launch.
int64_t stretch_of(const FieldSettings& s) { return s.on_a_gpu ? 0 : kAdamStretch; }

int64_t picture_bytes_fields(const Scene& scene) { return bytes_of(scene); }

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = {
      {.name = "hash",
       .file = "hash-nerf 1",
       .remedy = "lower \"log2_table\", \"grid\" or \"batch_samples\" in the config, or use --downscale",
       .rates = R"("learning_rate")",
       .batch = [](const FieldSettings& s) { return s.hash.batch_samples; },
       .settings = declared_settings<Config>,
       .read = read_into<&FieldSettings::hash, Config>,
       .write = [](const FieldSettings& s) { return settings_to_json(s.hash); },
       .training =
           [](const FieldSettings& s, int cascades) {
             return training_calls(s.hash, cascades, precision_of(s).formats, stretch_of(s));
           },
       .pictures = [](const FieldSettings& s, int cascades) { return render_calls(s.hash, cascades, 0); },
       .trainer_bytes =
           [](const FieldSettings& s, const Scene& scene, const BackendChoice& place) {
             return Trainer::bytes_of(scene, s.hash, place.sizes, !place.backend.in_host_memory,
                                      precision_of(s).formats);
           },
       .model_bytes = [](const FieldSettings& s, int cascades) { return Model::bytes_of(s.hash, cascades); },
       .trainer = [](const FieldSettings& s, const Scene& scene, const Plan& plan, uint64_t seed,
                     const BackendChoice& place,
                     const TrainerExtras& extras) -> std::unique_ptr<FieldTrainer> {
         return std::make_unique<Trainer>(scene, s.hash, plan, seed, place.backend, place.sizes, extras.pool,
                                          extras.share, precision_of(s));
       },
       .trained =
           [](const FieldTrainer& t) { return field_model(static_cast<const Trainer&>(t).averaged()); },
       .load = [](const std::filesystem::path& file,
                  Storage precision) { return field_model(Model::load(file, precision)); },
       .groups = [](const FieldSettings& s) { return std::vector<int64_t>{s.hash.features}; }},
      {.name = "frequency",
       .file = FrequencyModel::kind,
       .remedy = "lower \"chunk\" or \"width\" in the config",
       .rates = R"("learning_rate")",
       .batch =
           [](const FieldSettings& s) {
             return s.frequency.rays * (2 * s.frequency.coarse + s.frequency.fine);
           },
       .settings = declared_settings<FrequencyConfig>,
       .read = read_into<&FieldSettings::frequency, FrequencyConfig>,
       .write = [](const FieldSettings& s) { return settings_to_json(s.frequency); },
       .training = [](const FieldSettings& s, int) { return frequency_calls(s.frequency, true); },
       // same as in training
       .pictures = [](const FieldSettings&, int) { return std::vector<PlannedCall>(); },
       .trainer_bytes =
           [](const FieldSettings& s, const Scene& scene, const BackendChoice& place) {
             return FrequencyTrainer::bytes_of(s.frequency) +
                    (place.backend.in_host_memory ? 0 : picture_bytes_fields(scene));
           },
       .model_bytes = [](const FieldSettings& s, int) { return 8 * FrequencyNet(s.frequency).size; },
       .trainer = [](const FieldSettings& s, const Scene& scene, const Plan& plan, uint64_t seed,
                     const BackendChoice& place,
                     const TrainerExtras& extras) -> std::unique_ptr<FieldTrainer> {
         return std::make_unique<FrequencyTrainer>(scene, s.frequency, plan, seed, extras.share,
                                                   place.backend);
       },
       .trained =
           [](const FieldTrainer& t) {
             return field_model(static_cast<const FrequencyTrainer&>(t).model().copy());
           },
       .load =
           [](const std::filesystem::path& file, Storage precision) {
             FrequencyModel model = FrequencyModel::load(file);
             return field_model(precision == Storage::f32 ? std::move(model) : model.narrowed(precision));
           }},
      {.name = "voxels",
       .file = VoxelModel::kind,
       .remedy = "lower \"max_rows\", \"first_grid\" or \"batch_samples\" in the config, or use --downscale",
       .rates = R"("density_rate" and "color_rate")",
       .batch = [](const FieldSettings& s) { return s.voxels.batch_samples; },
       .settings = declared_settings<VoxelConfig>,
       .read = read_into<&FieldSettings::voxels, VoxelConfig>,
       .write = [](const FieldSettings& s) { return settings_to_json(s.voxels); },
       .training = [](const FieldSettings& s, int) { return voxel_calls(s.voxels, true, stretch_of(s)); },
       // same as in training
       .pictures = [](const FieldSettings&, int) { return std::vector<PlannedCall>(); },
       .trainer_bytes =
           [](const FieldSettings& s, const Scene& scene, const BackendChoice& place) {
             return voxel_bytes_at_most(s.voxels) + 400 * s.voxels.batch_samples +
                    (place.backend.in_host_memory ? 0 : picture_bytes_fields(scene));
           },
       .model_bytes = [](const FieldSettings& s, int) { return voxel_bytes_at_most(s.voxels) / 4; },
       .trainer = [](const FieldSettings& s, const Scene& scene, const Plan& plan, uint64_t seed,
                     const BackendChoice& place,
                     const TrainerExtras& extras) -> std::unique_ptr<FieldTrainer> {
         return std::make_unique<VoxelTrainer>(scene, s.voxels, plan, seed, place.backend, place.sizes,
                                               extras.share);
       },
       .trained =
           [](const FieldTrainer& t) {
             return field_model(static_cast<const VoxelTrainer&>(t).model().copy());
           },
       .load =
           [](const std::filesystem::path& file, Storage precision) {
             VoxelModel model = VoxelModel::load(file);
             return field_model(precision == Storage::f32 ? std::move(model) : model.narrowed(precision));
           },
       .groups =
           [](const FieldSettings& s) {
             return std::vector<int64_t>{1, 3 * s.voxels.basis()};
           }},
      {.name = "gaussians",
       .file = GaussianModel::kind,
       .remedy = "lower \"most\" or \"sh_degree\" in the config, or use --downscale",
       .rates = R"("scale_rate" and "opacity_rate")",
       .batch = [](const FieldSettings& s) { return s.gaussians.initial; },
       .settings = declared_settings<GaussianConfig>,
       .read = read_into<&FieldSettings::gaussians, GaussianConfig>,
       .write = [](const FieldSettings& s) { return settings_to_json(s.gaussians); },
       .training = [](const FieldSettings& s, int) { return gaussian_calls(s.gaussians); },
       // same as in training
       .pictures = [](const FieldSettings&, int) { return std::vector<PlannedCall>(); },
       .trainer_bytes = [](const FieldSettings& s, const Scene& scene,
                           const BackendChoice&) { return gaussian_bytes(s.gaussians, scene); },
       .model_bytes =
           [](const FieldSettings& s, int) {
             return splat_options(s.gaussians).density.most *
                    GaussianSet::zeros(1, int(s.gaussians.sh_degree)).bytes();
           },
       .trainer = [](const FieldSettings& s, const Scene& scene, const Plan& plan, uint64_t seed,
                     const BackendChoice& place, const TrainerExtras&) -> std::unique_ptr<FieldTrainer> {
         return std::make_unique<GaussianTrainer>(scene, s.gaussians, plan, seed, place.backend);
       },
       .trained =
           [](const FieldTrainer& t) { return field_model(static_cast<const GaussianTrainer&>(t).model()); },
       .load = [](const std::filesystem::path& file,
                  Storage) { return field_model(GaussianModel::load(file)); },
       .floats_because = "every picture projects all of them into floats that take as many bytes again",
       .no_parts = "a step of it learns from one view as a whole, and changes how many there are by all its "
                   "gradients"},
  };
  return list;
}

/// Returns the meaning of a term's weight; empty for another setting.
std::string meaning_of_weight(const std::string& setting) {
  for (const LossTerm& each : loss_terms())
    if (setting == each.term->name) return each.term->weight_of;
  return "";
}

const Kind& kind_of(const std::string& field) {
  require_field(field);
  return *std::ranges::find(kinds(), field, &Kind::name);
}

}  // namespace

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const Kind& k : kinds()) names.emplace_back(k.name);
  return names;
}

void require_field(const std::string& field) {
  const std::vector<std::string> names = field_names();
  if (std::ranges::find(names, field) == names.end())
    throw std::invalid_argument(
        fmt::format("--field {}: is no field; there are {}", excerpt(field), fmt::join(names, ", ")));
}

void require_backend(const FieldSettings& s, const std::string& backend) {
  const auto on_a_gpu = [](const Variant& v) { return v.backend == "cuda"; };
  if (backend == "cpu" || std::ranges::none_of(variants(), on_a_gpu)) return;
  FieldSettings there = s;
  there.on_a_gpu = true;
  for (const PlannedCall& call : kind_of(s.field).training(there, 1))
    if (variants_of(call.op, "cuda").empty())
      throw std::runtime_error(
          fmt::format("--backend {}: --field {} calls {}, which has no CUDA rung: take "
                      "--backend cpu",
                      backend, s.field, call.op));
}

void require_turns(const FieldSettings& s) {
  if (s.field == "hash" && s.hash.sampling == "error")
    throw std::runtime_error(
        R"(config: "sampling" "error" needs all pictures in memory: give more --memory, leave out --resident, or take "uniform")");
}

std::string field_of(const TensorFile& file) {
  const std::string& says = file.metadata("klab");
  for (const Kind& k : kinds())
    if (says == k.file) return k.name;
  std::vector<std::string> known;
  for (const Kind& k : kinds()) known.push_back(fmt::format("\"{}\"", k.file));
  throw std::runtime_error(fmt::format("{}: holds \"{}\", not a model that is known: {}",
                                       file.path().string(), excerpt(says), fmt::join(known, ", ")));
}

FieldSettings field_settings(const std::string& field, const std::string& text, const std::string& where) {
  FieldSettings settings;
  settings.field = field;
  kind_of(field).read(settings, text, where, [&](const std::string& key) -> std::string {
    const std::string need = need_of_setting(key);
    std::vector<std::string> others;
    for (const Kind& k : kinds()) {
      // Settings of other fields may have a term's name.
      const std::string meaning = meaning_of_weight(key);
      const bool has = std::ranges::any_of(k.settings(), [&](const DeclaredSetting& s) {
        return s.name == key && (meaning.empty() || s.meaning == meaning);
      });
      if (k.name != field && has) others.emplace_back(k.name);
    }
    if (others.empty()) return "";
    if (!need.empty())
      return fmt::format(
          "it weighs a term of the loss that needs {}, which --field {} does not have: take --field {}", need,
          field, fmt::join(others, " or "));
    return fmt::format("it is a setting of --field {}, and this is {}", fmt::join(others, " or "), field);
  });
  return settings;
}

std::string to_json_text(const FieldSettings& s) { return kind_of(s.field).write(s); }

// Calls of training and of evaluation pictures. The plan must support the pictures' calls, but their times do
// not affect the choice. On another backend pictures have a plan of their own.
std::vector<PlannedCall> run_calls(const FieldSettings& s, int cascades, const std::string& ladder) {
  const Kind& kind = kind_of(s.field);
  std::vector<PlannedCall> calls = kind.training(s, cascades);
  if (ladder != "cpu") return calls;
  const auto pictures = kind.pictures(s, cascades);
  calls.insert(calls.end(), pictures.begin(), pictures.end());
  return calls;
}

int64_t trainer_bytes(const FieldSettings& s, const Scene& scene, const BackendChoice& place) {
  return kind_of(s.field).trainer_bytes(s, scene, place);
}
int64_t model_bytes(const FieldSettings& s, int cascades) {
  return kind_of(s.field).model_bytes(s, cascades);
}
int64_t batch_samples(const FieldSettings& s) { return kind_of(s.field).batch(s); }
bool weighs_depth(const FieldSettings& s) {
  return (s.field == "hash" && needs(s.hash, Term::true_depth)) ||
         (s.field == "voxels" && needs(s.voxels, Term::true_depth));
}
std::string rates_of(const FieldSettings& s) { return kind_of(s.field).rates; }
std::string remedy_of(const FieldSettings& s) { return kind_of(s.field).remedy; }

std::vector<int64_t> table_groups(const FieldSettings& s) {
  const Kind& kind = kind_of(s.field);
  return kind.groups != nullptr ? kind.groups(s) : std::vector<int64_t>();
}

std::string no_parts_because(const FieldSettings& s) { return kind_of(s.field).no_parts; }

std::unique_ptr<FieldTrainer> make_trainer(const FieldSettings& s, const Scene& scene, const Plan& plan,
                                           uint64_t seed, const BackendChoice& place,
                                           const TrainerExtras& extras) {
  if ((s.field != kFieldOfExtras && extras.pool != nullptr) ||
      (extras.share.parts > 1 && !no_parts_because(s).empty()))
    throw std::logic_error("this field learns from all pictures, and a batch in one part");
  return kind_of(s.field).trainer(s, scene, plan, seed, place, extras);
}
double learned_share(const FieldSettings& s, int cascades) {
  // Measured with the built-in scene, whose rays cross empty space and end at a surface, and the fox photographs, whose rays meet
  // something everywhere. It only has to tell seconds from minutes: the limit of --score holds anyway.
  constexpr double kOneCube = 0.08, kOpenScene = 0.4;
  if (s.field != "hash") return 1;
  return cascades == 1 ? kOneCube : kOpenScene;
}

std::unique_ptr<FieldModel> trained_model(const FieldSettings& s, const FieldTrainer& trainer) {
  return kind_of(s.field).trained(trainer);
}
namespace {

/// Reads Gaussians in a world of their own: into the scene's box, or where the file says that they lie.
std::unique_ptr<FieldModel> load_gaussian_file(const std::filesystem::path& file, const Scene* scene,
                                               std::vector<std::string>* notes) {
  std::optional<StoredPlace> stored;
  if (file.extension() == ".ply") stored = place_in_ply(file);
  if (scene == nullptr && !stored)
    throw Refused(file, "klab place", "has no comment 'klab place' that says where its Gaussians lie",
                  "give the scene that they show, --scene DIR");
  GaussianModel model;
  const WorldPlace place = scene != nullptr ? place_of(*scene) : stored->place;
  if (scene != nullptr)
    model.placement = {scene->cascades, scene->scale, scene->offset, scene->near,
                       stored ? stored->placement.black : !scene->has_alpha()};
  else
    model.placement = stored->placement;
  model.set = load_gaussians(file, place, notes);
  model.config.sh_degree = model.set.degree;
  model.config.antialias = model.set.antialiased ? "yes" : "no";
  return field_model(std::move(model));
}

/// Returns the place in which the middle of Gaussians is that of the unit cube, and nine tenths of them lie inside along each axis. Those
/// that are hardly seen do not count.
WorldPlace place_around(const GaussianSet& set) {
  constexpr float kSeen = -2.2F;  // raw opacity: a tenth of the light
  const auto n = size_t(set.n);
  WorldPlace place{.turn = {1, 0, 0, 0, 0, 1, 0, -1, 0}};
  std::array<float, 3> middle{};
  float half = 0;
  for (size_t k = 0; k < 3; ++k) {
    std::vector<float> along;
    for (size_t i = 0; i < n; ++i)
      if (set.opacity_raw[i] > kSeen) along.push_back(set.position[k * n + i]);
    if (along.empty())
      along.assign(set.position.begin() + std::ptrdiff_t(k * n),
                   set.position.begin() + std::ptrdiff_t((k + 1) * n));
    std::ranges::sort(along);
    const float low = along[along.size() / 20], high = along[along.size() - 1 - along.size() / 20];
    middle[k] = (low + high) / 2;
    half = std::max(half, (high - low) / 2);
  }
  // A single Gaussian, or several in one place, are as large as they are themselves.
  if (!(half > 0)) half = 3 * std::exp(*std::ranges::max_element(set.log_scale));
  place.scale = 0.5F / std::clamp(half, 1e-6F, 1e9F);
  for (size_t row = 0; row < 3; ++row) {
    float turned = 0;
    for (size_t k = 0; k < 3; ++k) turned += place.turn[3 * row + k] * middle[k];
    (row == 0 ? place.offset.x : row == 1 ? place.offset.y : place.offset.z) = 0.5F - place.scale * turned;
  }
  return place;
}

}  // namespace

std::unique_ptr<FieldModel> load_lone_gaussians(const std::filesystem::path& file,
                                                std::vector<std::string>* notes) {
  constexpr float kNearLone = 0.01F;
  GaussianSet set = load_gaussians(file, {}, notes);
  const WorldPlace place = place_around(set);
  GaussianModel model;
  model.placement = {.cascades = 1, .scale = place.scale, .offset = place.offset, .near = kNearLone};
  model.set = in_grid(std::move(set), place);
  model.config.sh_degree = model.set.degree;
  model.config.antialias = model.set.antialiased ? "yes" : "no";
  return field_model(std::move(model));
}

bool is_gaussian_file(const std::filesystem::path& file) {
  constexpr std::array kEndings = {".ply", ".splat", ".spz", ".sog"};
  return std::ranges::find(kEndings, file.extension().string()) != kEndings.end();
}

namespace {

void require_precision(const Kind& kind, Storage precision) {
  if (precision != Storage::f32 && kind.floats_because[0] != 0)
    throw std::runtime_error(fmt::format("--precision {}: pictures of {} have f32 only: {}",
                                         name_of(precision), kind.name, kind.floats_because));
}

}  // namespace

Storage precision_named(const std::string& name) {
  constexpr std::array kNames = {"f32", "bf16", "f16", "int8"};
  if (std::ranges::find(kNames, name) == kNames.end())
    throw std::invalid_argument(
        fmt::format("--precision {}: there are f32, bf16, f16 and int8", name.substr(0, 40)));
  return storage_named(name);
}

std::unique_ptr<FieldModel> in_fewer_bits(const FieldModel& model, Storage precision) {
  require_precision(kind_of(model.field()), precision);
  if (const Model* hash = model.as_hash()) return field_model(narrowed(hash->copy(), precision));
  if (const VoxelModel* voxels = model.as_voxels()) return field_model(voxels->narrowed(precision));
  return field_model(model.as_frequency()->narrowed(precision));
}

Storage load_precision(const std::string& name, const std::filesystem::path& file) {
  const Storage precision = name.empty() ? Storage::f32 : precision_named(name);
  if (!name.empty() && precision == Storage::f32) return precision;
  if (is_gaussian_file(file)) return require_precision(kind_of("gaussians"), precision), precision;
  if (is_snapshot_file(file)) return precision;
  const TensorFile opened(file);
  require_precision(kind_of(field_of(opened)), precision);
  if (!name.empty()) return precision;
  const Storage stored = storage_in(opened);
  return is_precision(stored) && !keeps_floats(opened) ? stored : Storage::f32;
}

std::unique_ptr<FieldModel> load_field_model(const std::filesystem::path& file, const Scene* scene,
                                             Storage precision, std::vector<std::string>* notes) {
  if (is_gaussian_file(file)) return load_gaussian_file(file, scene, notes);
  if (is_snapshot_file(file)) {
    Model model = load_snapshot(file);
    return field_model(precision == Storage::f32 ? std::move(model) : narrowed(std::move(model), precision));
  }
  std::string field;
  {
    const TensorFile opened(file);  // closed before the model is read from it
    field = field_of(opened);
  }
  return kind_of(field).load(file, precision);
}

int64_t grid_cells(const FieldSettings& s, int cascades) {
  return s.field == "hash" ? int64_t(cascades) * s.hash.grid * s.hash.grid * s.hash.grid : 0;
}

}  // namespace klab
