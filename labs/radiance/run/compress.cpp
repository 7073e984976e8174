#include "labs/radiance/run/compress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/json_schema.h"
#include "harness/records/packed_tensors.h"
#include "harness/records/trial_file.h"
#include "harness/report/table.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/field/stored.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/run/student.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

nlohmann::json finite_or_null(double v) { return std::isfinite(v) ? nlohmann::json(v) : nlohmann::json(); }

/// Scores the stages of a model, a row for each.
class Stages {
 public:
  Stages(const CompressOptions& o, CallTimes& times, const Scene& scene)
      : o_(o),
        times_(times),
        scene_(scene),
        table_({{"model", Column::Kind::left},
                {"numbers", Column::Kind::right},
                {"not 0", Column::Kind::right},
                {"bytes", Column::Kind::right},
                {"of before", Column::Kind::right},
                {"PSNR, dB", Column::Kind::right},
                {"dB lost", Column::Kind::right},
                {"SSIM", Column::Kind::right},
                {"pictures/s", Column::Kind::right}}) {}

  std::function<Picture(const Camera&)> renderer(const FieldModel& model) {
    makers_.push_back(
        std::make_unique<PictureMaker>(model, o_.plan, backend_named("cpu"), times_, std::nullopt));
    return makers_.back()->render();
  }
  Score score(const FieldModel& model) {
    const size_t count = std::min(scene_.test.size(), size_t(o_.views));
    Score all = evaluate(renderer(model), model.placement().black, std::span(scene_.test).subspan(0, count));
    makers_.clear();
    return all;
  }
  /// Adds a row and returns the PSNR.
  double add(const std::string& name, const FieldModel& model, int64_t not_zero, int64_t bytes) {
    const Score s = score(model);
    if (!bytes_) bytes_ = bytes, psnr_ = s.psnr;
    table_.add({name, std::to_string(model.numbers()), std::to_string(not_zero), std::to_string(bytes),
                fmt::format("{:.1f} %", 100 * double(bytes) / double(*bytes_)), fmt::format("{:.2f}", s.psnr),
                fmt::format("{:.2f}", psnr_ - s.psnr), fmt::format("{:.4f}", s.ssim),
                fmt::format("{:.2f}", 1 / s.seconds)});
    rows_.push_back({{"name", name},
                     {"numbers", model.numbers()},
                     {"not_zero", not_zero},
                     {"bytes", bytes},
                     {"psnr", finite_or_null(s.psnr)},
                     {"ssim", s.ssim},
                     {"pictures_per_second", 1 / s.seconds}});
    return s.psnr;
  }
  std::string text() const { return table_.text(); }
  const nlohmann::json& rows() const { return rows_; }

 private:
  const CompressOptions& o_;
  CallTimes& times_;
  const Scene& scene_;
  Table table_;
  nlohmann::json rows_ = nlohmann::json::array();
  std::vector<std::unique_ptr<PictureMaker>> makers_;
  std::optional<int64_t> bytes_;
  double psnr_ = 0;
};

/// Returns the learned tensors of a field that can be compressed: matrices and tables.
std::vector<TensorView> compressible(const FieldModel& model) {
  std::vector<TensorView> list;
  const auto all = model.as_hash() != nullptr        ? model.as_hash()->tensors()
                   : model.as_frequency() != nullptr ? model.as_frequency()->tensors()
                                                     : std::vector<TensorView>();
  for (const TensorView& t : all)
    if (t.dtype == "F32" && t.shape.size() == 2) list.push_back(t);
  return list;
}

std::span<float> numbers_in(const TensorView& t) {
  return {static_cast<float*>(const_cast<void*>(t.data)), size_t(t.shape[0] * t.shape[1])};
}

int64_t not_zero(const FieldModel& model) {
  const std::vector<TensorView> list = compressible(model);
  if (list.empty()) return model.numbers();
  int64_t zeros = 0;
  for (const TensorView& t : list) zeros += std::ranges::count(numbers_in(t), 0.0F);
  return model.numbers() - zeros;
}

std::unique_ptr<FieldModel> copy_of(const FieldModel& model) {
  return model.as_hash() != nullptr ? field_model(model.as_hash()->copy())
                                    : field_model(model.as_frequency()->copy());
}

bool is_kept(const CompressOptions& o, const std::string& tensor) {
  return std::ranges::find(o.keep, tensor) != o.keep.end();
}

/// Sets the share of the numbers to 0 in each tensor that is not kept.
void prune(const FieldModel& model, const CompressOptions& o) {
  for (const TensorView& t : compressible(model))
    if (!is_kept(o, t.name)) prune_smallest(numbers_in(t), group_of(t.shape), o.prune);
}

void save(const FieldModel& model, const CompressOptions& o, const fs::path& file) {
  if (const Model* hash = model.as_hash()) {
    std::vector<std::string> floats;
    for (const TensorView& t : compressible(model))
      if (is_kept(o, t.name)) floats.push_back(t.name);
    save_stored(*hash, o.format, file, {.floats = floats, .packed = o.prune > 0});
  } else if (const FrequencyModel* net = model.as_frequency(); net != nullptr && o.prune > 0) {
    save_tensors(file, PackedTensors(net->tensors()).views(), net->metadata());
  } else {
    model.save(file);
  }
}

/// Returns the model with one tensor compressed, as a reader of its file gets it.
std::unique_ptr<FieldModel> compressed_alone(const FieldModel& model, const CompressOptions& o,
                                             const std::string& tensor) {
  CompressOptions one = o;
  one.keep.clear();
  for (const TensorView& t : compressible(model))
    if (t.name != tensor) one.keep.push_back(t.name);
  auto copy = copy_of(model);
  if (o.prune > 0) prune(*copy, one);
  if (o.format == Storage::f32) return copy;
  const TrialFile file(o.out);
  save(*copy, one, file.path());
  return load_field_model(file.path(), nullptr, Storage::f32);
}

/// Returns the bytes of a model's file of floats, zeros left out if there are any.
int64_t bytes_of_file(const FieldModel& model, CompressOptions o, bool zeros_left_out) {
  const TrialFile file(o.out);
  o.format = Storage::f32;
  if (zeros_left_out)
    save(model, o, file.path());
  else
    model.save(file.path());
  return int64_t(fs::file_size(file.path()));
}

/// Chooses the tensors whose compression alone costs more than kSensitive; prints what each costs, or adds it to `tensors`.
std::vector<std::string> sensitive(const FieldModel& model, const CompressOptions& o, Stages& stages,
                                   nlohmann::json& tensors) {
  const double whole = stages.score(model).psnr;
  Table table({{"compressed alone"}, {"dB lost", Column::Kind::right}, {""}});
  std::vector<std::string> list;
  for (const TensorView& t : compressible(model)) {
    if (stop_requested) break;
    const double lost = whole - stages.score(*compressed_alone(model, o, t.name)).psnr;
    if (lost > kSensitive) list.push_back(t.name);
    table.add({t.name, fmt::format("{:.3f}", lost), lost > kSensitive ? "kept" : ""});
    tensors.push_back({{"name", t.name}, {"lost", finite_or_null(lost)}, {"kept", lost > kSensitive}});
  }
  if (!o.json) fmt::print("{}\n", table.text());
  return list;
}

void require_applies(const CompressOptions& o, const FieldModel& model) {
  const std::string field = model.field();
  const auto refuse = [&](const std::string& option, const std::string& why) {
    throw std::invalid_argument(fmt::format("{} does not apply to a field of {}: {}", option, field, why));
  };
  if (o.prune > 0 && field == "voxels")
    refuse("--prune",
           "its empty cells are removed while it trains (setting \"prune\"); --distill first_grid=16");
  if (o.prune > 0 && field == "gaussians")
    refuse("--prune", "faint ones are removed while it trains; --distill most=10000 gives fewer");
  if (o.format != Storage::f32 && field != "hash")
    refuse("--format",
           "only hash fields are stored in fewer bits; eval and render --precision hold others so");
  if (o.retrain > 0 && o.prune == 0)
    throw std::invalid_argument(
        "--retrain trains what --prune has left: give that, or --steps for a student");
  if (!o.keep.empty() && o.prune == 0 && o.format == Storage::f32)
    throw std::invalid_argument("--keep says what --prune and --format leave alone: give one of them");
  std::vector<std::string> names;
  for (const TensorView& t : compressible(model)) names.push_back(t.name);
  for (const std::string& name : o.keep)
    if (name != "auto" && std::ranges::find(names, name) == names.end())
      throw std::invalid_argument(fmt::format("--keep {}: is no tensor of the model: auto, or some of {}",
                                              name, fmt::join(names, ", ")));
  if (std::ranges::find(o.keep, "auto") != o.keep.end() && o.keep.size() > 1)
    throw std::invalid_argument("--keep auto chooses tensors by itself: leave out the others");
}

}  // namespace

int compress_field(CompressOptions o, CallTimes& times) {
  if (is_gaussian_file(o.model))
    throw std::invalid_argument(
        o.model.string() + ": holds no settings of a training: name the model.safetensors of klab train");
  if (!is_snapshot_file(o.model)) {
    const Storage storage = storage_in(TensorFile(o.model));
    if (storage != Storage::f32)
      throw std::runtime_error(fmt::format(
          "{}: is stored as {} already: what it lost does not come back; name the model of floats",
          o.model.string(), name_of(storage)));
  }
  const std::unique_ptr<FieldModel> teacher = load_field_model(o.model);
  require_applies(o, *teacher);
  const FieldSettings settings =
      o.student.empty() ? settings_of(*teacher) : student_settings(*teacher, o.student);
  require_writable_file(o.out);
  Scene scene = load_scene_visibly(o.scene, o.reading);
  if (scene.test.empty()) throw std::runtime_error(o.scene + ": has no test view: give --holdout");
  const StopSignals signals;
  const auto interrupted = [&] {
    if (!stop_requested) return false;
    stop_heeded();
    fmt::print(stderr, "interrupted: nothing written\n");
    return true;
  };
  Stages stages(o, times, scene);
  const auto bytes_before = int64_t(fs::file_size(o.model));
  stages.add("before", *teacher, not_zero(*teacher), bytes_before);
  std::unique_ptr<FieldModel> student;
  if (!o.student.empty()) {
    const Plan plan = Plan::named(o.plan, run_calls(settings, scene.cascades, "cpu"), times);
    const Scene taught = as_seen_by(stages.renderer(*teacher), teacher->placement().black, scene);
    if (interrupted()) return 130;
    student = learn(settings, taught, plan, o.reading.seed, o.steps);
    if (student == nullptr) return interrupted(), 130;
    if (o.prune > 0 || o.format != Storage::f32)
      stages.add("student", *student, not_zero(*student), bytes_of_file(*student, o, false));
  }
  const FieldModel& whole = student ? *student : *teacher;
  std::unique_ptr<FieldModel> pruned;
  nlohmann::json tensors = nlohmann::json::array();
  if (o.keep == std::vector<std::string>{"auto"}) o.keep = sensitive(whole, o, stages, tensors);
  if (interrupted()) return 130;
  if (o.prune > 0) {
    pruned = copy_of(whole);
    prune(*pruned, o);
  }
  if (o.retrain > 0) {
    stages.add("pruned", *pruned, not_zero(*pruned), bytes_of_file(*pruned, o, true));
    const Plan plan = Plan::named(o.plan, run_calls(settings, scene.cascades, "cpu"), times);
    pruned = retrain(*pruned, scene, plan, o.reading.seed, o.retrain);
    if (pruned == nullptr) return interrupted(), 130;
  }
  const FieldModel& result = pruned ? *pruned : whole;
  save(result, o, o.out);
  const auto written = load_field_model(o.out, nullptr, load_precision("", o.out));
  stages.add("after", *written, not_zero(result), int64_t(fs::file_size(o.out)));
  if (o.json) {
    nlohmann::json printed = {{"model", o.model.string()},
                              {"data", o.scene},
                              {"written", o.out.string()},
                              {"examples", std::min(scene.test.size(), size_t(o.views))},
                              {"kept", o.keep},
                              {"stages", stages.rows()}};
    if (!tensors.empty()) printed["tensors"] = tensors;
    fmt::print("{}\n", with_schema("compression", printed).dump(2));
    return 0;
  }
  fmt::print("{}\n{} test views of {}, each model as it is read from its file\nwritten   {}\n", stages.text(),
             std::min(scene.test.size(), size_t(o.views)), o.scene, o.out.string());
  return 0;
}

}  // namespace klab
