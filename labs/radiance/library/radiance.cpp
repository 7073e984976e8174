// klab/radiance.h over the rooms of the radiance field: options are checked, calls go on to the classes that `klab train`,
// `klab eval` and `klab render` use, and what these throw becomes an Error.
#include <klab/radiance.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "harness/program/times_sources.h"
#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/field_points.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/loss/terms.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/shortage.h"
#include "labs/radiance/scene/image.h"

namespace klab::radiance {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kLessMemory =
    "end other programs, take smaller pictures (SceneOptions::downscale), or lower the config's batch or "
    "table";

/// What an exception concerns if it does not say so itself.
struct Concern {
  fs::path file;
  std::string field, remedy;
};

/// Completes a message with the file and the remedy, unless it names them.
Error error_of(std::string message, const Concern& concern) {
  const std::string file = concern.file.filename().string();
  if (!file.empty() && message.find(file) == std::string::npos)
    message = concern.file.string() + ": " + message;
  if (message.find(concern.remedy) == std::string::npos) message += ": " + concern.remedy;
  return {message, concern.file, concern.field, concern.remedy};
}

/// Runs `work` and throws what it throws as an Error.
template <class Work>
auto translated(const Concern& concern, Work&& work) {
  const auto memory = [&](const std::string& why) {
    return error_of(why, {concern.file, "memory", kLessMemory});
  };
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const Refused& e) {
    // Plans are files and names: which setting holds one is not known there.
    if (e.field() == "plan") throw error_of(e.what(), concern);
    throw Error(e.what(), e.file(), e.field(), e.remedy());
  } catch (const NotFinite& e) {
    throw error_of(e.what(), {concern.file, "learning_rate", "lower \"learning_rate\" in the config"});
  } catch (const OutOfMemory& e) {
    throw memory(e.what());
  } catch (const std::bad_alloc&) {
    throw memory("an allocation failed");
  } catch (const std::exception& e) {
    throw error_of(e.what(), concern);
  }
}

/// Throws for an option of the header that is out of range.
void require_option(double value, Range range, const char* field, const fs::path& file = {}) {
  if (within(value, range)) return;
  const std::string remedy = fmt::format("take a number {}", text_of(range));
  throw error_of(fmt::format("{} is {}", field, value), {file, field, remedy});
}

/// Sets the number of OpenMP's threads for calls made while it lives.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) {
    if (threads > 0) omp_set_num_threads(threads);
  }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

void require_threads(int threads) { require_option(threads, {0, range::threads.high}, "threads"); }

Concern concern_of_rungs(const std::string& rungs) {
  const bool named = rungs == "best" || rungs == "last" || rungs == "naive";
  return {named ? fs::path() : fs::path(rungs), "rungs",
          "take best, last, naive, or a JSON file {\"operation\": \"variant id\"}"};
}

/// Copies a camera from klab's type to the header's, or back.
template <class To>
To camera_as(const auto& c) {
  return {.width = c.width,
          .height = c.height,
          .fx = c.fx,
          .fy = c.fy,
          .cx = c.cx,
          .cy = c.cy,
          .k1 = c.k1,
          .k2 = c.k2,
          .p1 = c.p1,
          .p2 = c.p2,
          .pose = c.pose};
}

std::vector<View> outer(const std::vector<klab::View>& views) {
  std::vector<View> out;
  for (const klab::View& view : views) out.push_back({view.name, camera_as<Camera>(view.camera)});
  return out;
}

/// Refuses cameras whose rays would not be finite, or whose picture would not fit into memory.
void require_camera(const Camera& c) {
  require_option(c.width, range::picture_side, "width");
  require_option(c.height, range::picture_side, "height");
  const double side = std::max(c.width, c.height);
  require_option(c.fx, {range::focal_sides.low * side, range::focal_sides.high * side}, "fx");
  require_option(c.fy, {range::focal_sides.low * side, range::focal_sides.high * side}, "fy");
  require_option(c.cx, {range::center_sides.low * side, range::center_sides.high * side}, "cx");
  require_option(c.cy, {range::center_sides.low * side, range::center_sides.high * side}, "cy");
  for (const float k : {c.k1, c.k2}) require_option(k, range::radial, "k1, k2");
  for (const float p : {c.p1, c.p2}) require_option(p, range::tangential, "p1, p2");
  for (const float p : c.pose) require_option(p, range::pose, "pose");
}

}  // namespace

struct Scene::Parts {
  klab::Scene scene;
  std::string given;        // what load() was called with
  bool depth_asked = true;  // SceneOptions::depth
};

struct Field::Parts {
  std::unique_ptr<FieldModel> model;
};

Camera look_at(const Point& eye, const Point& target, int width, int height, float field_of_view) {
  require_option(field_of_view, range::degrees, "field_of_view");
  const Vec3 from{eye[0], eye[1], eye[2]}, to{target[0], target[1], target[2]};
  if (!(length(from - to) > 0))
    throw error_of("eye and target are the same point", {{}, "target", "name a point in front of the eye"});
  const auto camera =
      camera_as<Camera>(klab::look_at(from, to, width, height, field_of_view * float(M_PI / 180)));
  require_camera(camera);
  return camera;
}

Scene Scene::load(const std::string& folder, const SceneOptions& options) {
  require_option(options.downscale, range::downscale, "downscale", folder);
  require_option(options.holdout, range::holdout, "holdout", folder);
  if (options.holdout == 1)
    throw error_of("holdout is 1, which leaves no view to learn from",
                   {folder, "holdout", "take 0 for none, or a number from 2 on"});
  const Concern concern{folder, "scene", "repair its files, or take another scene"};
  return translated(concern, [&] {
    auto parts = std::make_shared<Parts>();
    parts->given = folder;
    parts->depth_asked = options.depth;
    klab::Scene& scene = parts->scene;
    scene = load_scene(folder, {.downscale = options.downscale,
                                .holdout = options.holdout,
                                .seed = options.seed,
                                .depth = options.depth,
                                .pictures = klab::SceneOptions::Pictures::on_disk});
    load_pictures(scene.train);
    load_pictures(scene.test);
    return Scene(std::move(parts));
  });
}

Scene Scene::built_in(const SceneOptions& options) { return load("built-in", options); }

const std::string& Scene::name() const { return parts_->scene.name; }
const std::string& Scene::format() const { return parts_->scene.format; }
std::vector<View> Scene::train_views() const { return outer(parts_->scene.train); }
std::vector<View> Scene::test_views() const { return outer(parts_->scene.test); }
const std::vector<std::string>& Scene::notes() const { return parts_->scene.notes; }

Field Field::load(const fs::path& file) {
  return translated({file, "model", "name a model.safetensors that Field::save or klab train wrote"}, [&] {
    auto parts = std::make_shared<Parts>();
    parts->model = load_field_model(file);
    return Field(std::move(parts));
  });
}

void Field::save(const fs::path& file) const {
  translated({file, "model", "name a file in a folder that exists and can be written"},
             [&] { parts_->model->save(file); });
}

std::string Field::kind() const { return parts_->model->field(); }
int64_t Field::bytes() const { return parts_->model->bytes(); }

struct Trainer::Parts {
  Scene scene;  // the trainer reads its pictures
  TrainerOptions options;
  FieldSettings settings;
  BackendChoice place;
  Shortage shortage{[](const std::string&) {}};  // the new size is in Progress::batch_samples
  std::unique_ptr<FieldTrainer> trainer;
  double seconds = 0;
  std::optional<StepReport> last;

  Concern concern() const {
    return {scene.parts().given, "scene", "check its pictures and cameras, or take another scene"};
  }
};

namespace {

FieldSettings settings_of(const TrainerOptions& options) {
  const std::vector<std::string> known = field_names();
  if (std::ranges::find(known, options.field) == known.end())
    throw error_of(fmt::format("there is no field \"{}\"", excerpt(options.field)),
                   {{}, "field", fmt::format("take one of {}", fmt::join(known, ", "))});
  if (!options.config.empty() && !options.settings.empty())
    throw error_of(
        "both config and settings are given",
        {options.config, "settings", "write the settings into the config, or leave the config out"});
  const Concern concern{options.config, options.config.empty() ? "settings" : "config",
                        "give a JSON object of numbers of the recipe"};
  return translated(concern, [&] {
    if (!options.config.empty())
      return field_settings(options.field, read_input(options.config), options.config.string());
    return field_settings(options.field, options.settings.empty() ? "{}" : options.settings, "settings");
  });
}

/// Throws where a setting learns from measured depth and no picture has it.
void require_depth(const FieldSettings& settings, const Scene::Parts& scene) {
  if (!weighs_depth(settings) ||
      std::ranges::any_of(scene.scene.train, [](const klab::View& v) { return !v.depth.empty(); }))
    return;
  const LossSettings& weights =
      settings.field == "voxels" ? static_cast<const LossSettings&>(settings.voxels) : settings.hash;
  std::string name;
  for (const LossTerm& each : loss_terms())
    if ((each.term->needs & Term::true_depth) != 0 && weights.*each.weight > 0) name = each.term->name;
  throw error_of(
      fmt::format("\"{}\" has a weight, and {}", name,
                  scene.depth_asked ? "no picture has measured depth" : "measured depth was not read"),
      {scene.given, name,
       scene.depth_asked ? "leave the setting out, or take a scene with depth maps or points"
                         : "load the scene with SceneOptions::depth"});
}

/// Chooses a variant for each operation, as the commands do.
Plan plan_of(const std::string& rungs, const std::vector<PlannedCall>& calls, const BackendChoice& place,
             Unit precision = Unit::f32) {
  return translated(concern_of_rungs(rungs), [&] {
    Plan::require(plan_ids(rungs, calls, place.ladder), rungs, calls, place.ladder);
    CallTimes times(sources_of_times_here());
    return Plan::named(rungs, calls, times, place.ladder, precision);
  });
}

}  // namespace

Trainer::Trainer(const Scene& scene, const TrainerOptions& options)
    : parts_(new Parts{.scene = scene,
                       .options = options,
                       .settings = settings_of(options),
                       .place = backend_named("cpu"),
                       .trainer = nullptr,
                       .last = {}}) {
  require_threads(options.threads);
  const klab::Scene& inner_scene = scene.parts().scene;
  const ThreadCount threads(options.threads);
  const FieldSettings& settings = parts_->settings;
  require_depth(settings, scene.parts());
  const Plan plan =
      plan_of(options.rungs, run_calls(settings, inner_scene.cascades, parts_->place.ladder), parts_->place);
  translated({parts_->scene.parts().given, "memory", kLessMemory}, [&] {
    require_memory(trainer_bytes(settings, inner_scene, parts_->place), "the trainer", kLessMemory);
  });
  translated(parts_->concern(), [&] {
    parts_->trainer = make_trainer(settings, inner_scene, plan, options.seed, parts_->place);
  });
}

Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Progress Trainer::train(const Budget& budget, const Report& report) {
  if ((budget.steps != 0) == (budget.seconds != 0))
    throw error_of(budget.steps == 0 ? "the budget has neither steps nor seconds"
                                     : "the budget has both steps and seconds",
                   {{}, "steps", "give Budget::steps or Budget::seconds"});
  if (budget.steps != 0) require_option(double(budget.steps), range::steps, "steps");
  if (budget.seconds != 0) require_option(budget.seconds, range::seconds, "seconds");
  require_option(budget.report_seconds, {0, range::seconds.high}, "report_seconds");
  Parts& p = *parts_;
  FieldTrainer& trainer = *p.trainer;
  const ThreadCount threads(p.options.threads);
  const auto share = [&] {
    return budget.steps != 0 ? double(trainer.steps_done()) / double(budget.steps)
                             : p.seconds / budget.seconds;
  };
  const auto progress = [&] {
    return translated(p.concern(), [&] {
      Progress now{.step = trainer.steps_done(),
                   .seconds = p.seconds,
                   .share = std::min(share(), 1.0),
                   .batch_samples = trainer.batch_samples()};
      if (!p.last) return now;
      now.loss = trainer.batch_loss(p.last->loss);
      now.psnr = trainer.batch_psnr();
      now.samples = p.last->samples;
      return now;
    });
  };
  double reported = p.seconds;
  bool wanted = true, fresh = false;  // the user wants more; the last step is not yet reported
  while (wanted && share() < 1) {
    const auto began = Clock::now();
    p.last = translated(p.concern(),
                        [&] { return p.shortage.through(trainer, [&] { return trainer.step(share()); }); });
    p.seconds += std::chrono::duration<double>(Clock::now() - began).count();
    fresh = true;
    if (!report || (p.seconds - reported < budget.report_seconds && trainer.steps_done() != 1)) continue;
    reported = p.seconds;
    fresh = false;
    wanted = report(progress());
  }
  const Progress end = progress();
  if (report && fresh) report(end);
  return end;
}

Field Trainer::field() const {
  return translated(parts_->concern(), [&] {
    auto field = std::make_shared<Field::Parts>();
    field->model = trained_model(parts_->settings, *parts_->trainer);
    return Field(std::move(field));
  });
}

void Picture::save_png(const fs::path& file) const {
  if (width < 1 || height < 1 || rgb.size() != 3 * size_t(width) * size_t(height))
    throw error_of("rgb has not three values for each of width x height pixels",
                   {file, "rgb", "save a picture that Renderer::render returned"});
  translated({file, "picture", "name a file in a folder that exists and can be written"}, [&] {
    std::vector<uint8_t> bytes(rgb.size());
    std::ranges::transform(rgb, bytes.begin(), to_byte);
    klab::save_png(file, width, height, 3, bytes);
  });
}

struct Renderer::Parts {
  Field field;
  RendererOptions options;
  std::unique_ptr<FieldModel> narrow;   // the field in fewer bits; null: its floats are read
  std::optional<PictureMaker> maker;    // reads the parameters of one of the two
  std::unique_ptr<FieldPoints> points;  // null until the first use

  const FieldModel& model() const { return narrow ? *narrow : *field.parts().model; }
  /// Throws for a field without a density, and for one in fewer bits.
  FieldPoints& at_points();
};

namespace {

/// Returns a field's model in the format of that name; null for floats.
std::unique_ptr<FieldModel> narrow_model(const FieldModel& model, const std::string& name) {
  constexpr std::array kNames = {"f32", "bf16", "f16", "int8"};
  if (std::ranges::find(kNames, name) == kNames.end())
    throw error_of(fmt::format("there is no precision \"{}\"", excerpt(name)),
                   {{}, "precision", "take f32, bf16, f16 or int8"});
  const Storage precision = precision_named(name);
  if (precision == Storage::f32) return nullptr;
  return translated({{}, "precision", "take f32"}, [&] { return in_fewer_bits(model, precision); });
}

}  // namespace

Renderer::Renderer(const Field& field, const RendererOptions& options)
    : parts_(
          new Parts{.field = field, .options = options, .narrow = nullptr, .maker = {}, .points = nullptr}) {
  require_threads(options.threads);
  const ThreadCount threads(options.threads);
  const BackendChoice place = backend_named("cpu");
  parts_->narrow = narrow_model(*field.parts().model, options.precision);
  const FieldModel& model = parts_->model();
  const Plan plan = plan_of(options.rungs, model.picture_calls(place), place, picture_unit(model));
  translated({{}, "memory", "take a smaller field"}, [&] {
    CallTimes times(sources_of_times_here());
    parts_->maker.emplace(model, options.rungs, place, times, plan);
  });
}

Renderer::Renderer(Renderer&&) noexcept = default;
Renderer& Renderer::operator=(Renderer&&) noexcept = default;
Renderer::~Renderer() = default;

Picture Renderer::render(const Camera& camera) {
  require_camera(camera);
  const ThreadCount threads(parts_->options.threads);
  return translated({{}, "camera", "take a camera with fewer pixels"}, [&] {
    klab::Picture picture = parts_->maker->render()(camera_as<klab::Camera>(camera));
    return Picture{.width = picture.width,
                   .height = picture.height,
                   .rgb = std::move(picture.rgb),
                   .opacity = std::move(picture.opacity),
                   .depth = std::move(picture.depth)};
  });
}

int64_t Renderer::bytes() const { return parts_->model().held_bytes(); }

Score Renderer::score(const Scene& scene) {
  const Scene::Parts& parts = scene.parts();
  if (parts.scene.test.empty())
    throw error_of("has no views for testing",
                   {parts.given, "holdout", "load it with SceneOptions::holdout from 2 on, 8 for example"});
  const ThreadCount threads(parts_->options.threads);
  return translated({parts.given, "scene", "take the scene that the field was trained on"}, [&] {
    const bool black = parts_->model().placement().black;
    const klab::Score score = evaluate(parts_->maker->render(), black, parts.scene.test);
    Score out{.psnr = score.psnr, .ssim = score.ssim, .protocol = score.protocol, .views = {}};
    for (const klab::ViewScore& view : score.views) out.views.push_back({view.name, view.psnr, view.ssim});
    return out;
  });
}

FieldPoints& Renderer::Parts::at_points() {
  if (narrow)
    throw error_of("densities and colors at points are computed with floats",
                   {{}, "precision", "make a Renderer of precision f32"});
  if (!points) points = field_points(model(), maker->plan());
  if (!points)
    throw error_of("Gaussians have no density at a point",
                   {{}, "field", "take a field of hash, voxels or frequency"});
  return *points;
}

namespace {

/// Converts points or directions to klab's type. Throws for a value that is not finite.
std::vector<Vec3> inner_points(const std::vector<Point>& points, const char* field) {
  std::vector<Vec3> out;
  for (const Point& p : points) {
    if (!std::ranges::all_of(p, [](float v) { return std::isfinite(v); }))
      throw error_of(fmt::format("{}[{}] is not finite", field, out.size()),
                     {{}, field, "give finite numbers"});
    out.push_back({p[0], p[1], p[2]});
  }
  return out;
}

}  // namespace

std::vector<float> Renderer::density(const std::vector<Point>& points) {
  const std::vector<Vec3> at = inner_points(points, "points");
  const ThreadCount threads(parts_->options.threads);
  return translated({{}, "points", "take fewer points at a time"}, [&] {
    std::vector<float> out(at.size());
    parts_->at_points().density(at.data(), int64_t(at.size()), out.data());
    for (float& v : out) v = std::min(std::exp(v), std::numeric_limits<float>::max());
    return out;
  });
}

std::vector<Point> Renderer::colors(const std::vector<Point>& points, const std::vector<Point>& directions) {
  if (points.size() != directions.size())
    throw error_of(fmt::format("there are {} points and {} directions", points.size(), directions.size()),
                   {{}, "directions", "give one for each point"});
  const std::vector<Vec3> at = inner_points(points, "points");
  std::vector<Vec3> along = inner_points(directions, "directions");
  for (size_t i = 0; i < along.size(); ++i) {
    Vec3& d = along[i];
    // Twice, since the square of a tiny length is 0 in single precision and that of a huge one infinite.
    const float largest = std::max({std::abs(d.x), std::abs(d.y), std::abs(d.z)});
    if (!(largest > 0))
      throw error_of(fmt::format("directions[{}] has no length", i),
                     {{}, "directions", "give the direction in which a ray passes the point"});
    d = normalized({d.x / largest, d.y / largest, d.z / largest});
  }
  const ThreadCount threads(parts_->options.threads);
  return translated({{}, "points", "take fewer points at a time"}, [&] {
    std::vector<Vec3> rgb(at.size());
    parts_->at_points().color(at.data(), along.data(), int64_t(at.size()), rgb.data());
    std::vector<Point> out;
    for (const Vec3& c : rgb) out.push_back({c.x, c.y, c.z});
    return out;
  });
}

}  // namespace klab::radiance
