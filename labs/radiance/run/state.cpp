#include "labs/radiance/run/state.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/run/precision.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kBuiltIn = "built-in";

bool is_there(const fs::path& path) {
  std::error_code error;
  return path == kBuiltIn || (fs::exists(path, error) && !error);
}

bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (a == b || fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(fs::absolute(a), error) == fs::weakly_canonical(fs::absolute(b), error);
}

[[noreturn]] void contradiction(const RunOptions& given, const std::string& option,
                                const std::string& run_has) {
  throw std::runtime_error(
      fmt::format("--resume {}: {} contradicts that run, which has {}; leave it out, or begin a new run",
                  given.resume.string(), option, run_has));
}

}  // namespace

std::map<std::string, std::string> to_metadata(const RunState& s) {
  json state = {{"scene", path_to_json(s.scene)},
                {"scene_from_run", path_to_json(s.scene_from_run)},
                {"downscale", s.downscale},
                {"holdout", s.holdout},
                {"seed", s.seed},
                {"plan", s.plan},
                {"precision", s.precision},
                {"ladder", s.ladder},
                {"seconds", s.seconds},
                {"samples", s.samples},
                {"budget_seconds", s.budget_seconds},
                {"budget_steps", s.budget_steps},
                {"views", s.views},
                {"plateau_factor", s.plateau_factor},
                {"score", score_text(s.score)}};
  if (s.precision == "f16") state["loss_scale"] = to_json(s.loss_scale);
  return {{"run", state.dump()}};
}

RunState run_state_in(const TensorFile& file) {
  const std::string where = file.path().string() + ", its run state";
  const json state = parse_json(file.metadata("run"), where);
  RunState s;
  const auto field = [&](const char* key) { return state.is_object() ? state.find(key) : state.end(); };
  const auto has = [&](const char* key) { return state.is_object() && state.contains(key); };
  if (!has("scene")) throw std::runtime_error(where + ": has no \"scene\"");
  s.scene = path_from_json(*field("scene"), where);
  s.downscale = number_in<int>(state, "downscale", range::downscale, where);
  s.holdout = number_in<int>(state, "holdout", range::holdout, where);
  s.seconds = number_in<double>(state, "seconds", {0, 1e12}, where);
  s.samples = number_in<double>(state, "samples", {0, 1e18}, where);
  s.budget_seconds = number_in<double>(state, "budget_seconds", {0, range::seconds.high}, where);
  s.budget_steps = number_in<int64_t>(state, "budget_steps", {0, range::steps.high}, where);
  // Missing in older checkpoints.
  if (has("plateau_factor")) s.plateau_factor = number_in<double>(state, "plateau_factor", {0, 1}, where);
  if (has("plan")) s.plan = plan_from_json(field("plan")->dump(), where + ", plan");
  if (has("precision")) {
    const json& precision = *field("precision");
    if (!precision.is_string()) throw std::runtime_error(where + ": \"precision\" must be a word");
    try {
      unit_of_precision(precision);
    } catch (const std::invalid_argument& e) {
      throw std::runtime_error(where + ": " + e.what());
    }
    s.precision = precision;
  }
  if (has("loss_scale"))
    s.loss_scale = loss_scale_settings_from(*field("loss_scale"), where + ", its loss scale");
  if (has("score")) {
    const json& score = *field("score");
    if (!score.is_string()) throw std::runtime_error(where + ": \"score\" must be all, or seconds as a text");
    try {
      s.score = score_seconds_from(score);
    } catch (const std::invalid_argument& e) {
      throw std::runtime_error(where + ": " + e.what());
    }
  }
  if (has("ladder")) {
    const json& ladder = *field("ladder");
    if (ladder != "cpu" && ladder != "cuda")
      throw std::runtime_error(where + ": \"ladder\" must be \"cpu\" or \"cuda\"");
    s.ladder = ladder;
  }
  if (has("scene_from_run") && *field("scene_from_run") != "")
    s.scene_from_run = path_from_json(*field("scene_from_run"), where);
  if (has("views")) {
    const json& views = *field("views");
    if (!views.is_array() || views.size() != s.views.size())
      throw std::runtime_error(where + ": \"views\" must be four numbers");
    for (size_t i = 0; i < s.views.size(); ++i)
      s.views[i] = number_of<int64_t>(views[i], "views", {0, 1e9}, where);
  }
  const json trainer = parse_json(file.metadata("trainer"), file.path().string() + ", its trainer state");
  s.seed = number_in<uint64_t>(trainer, "seed", range::seed, where);
  return s;
}

std::array<int64_t, 4> views_of(const Scene& scene) {
  const Camera& first = scene.train.front().camera;
  return {int64_t(scene.train.size()), int64_t(scene.test.size()), first.width, first.height};
}

std::optional<std::string> recorded_scene(const RunState& run, const fs::path& folder) {
  if (is_there(run.scene)) return run.scene.string();
  if (!run.scene_from_run.empty())
    if (const fs::path beside = folder / run.scene_from_run; is_there(beside))
      return beside.lexically_normal().string();
  return std::nullopt;
}

bool is_scene_of(const RunState& run, const std::string& given) { return same_place(given, run.scene); }

std::string resumed_scene(const RunOptions& o, const RunState& run) {
  if (o.seed && *o.seed != run.seed)
    contradiction(o, fmt::format("--seed {}", *o.seed), fmt::format("the seed {}", run.seed));
  if (o.downscale && *o.downscale != run.downscale)
    contradiction(o, fmt::format("--downscale {}", *o.downscale),
                  fmt::format("--downscale {}", run.downscale));
  if (o.holdout && *o.holdout != run.holdout)
    contradiction(o, fmt::format("--holdout {}", *o.holdout), fmt::format("--holdout {}", run.holdout));
  if (o.scene && !same_place(*o.scene, run.scene))
    throw std::runtime_error(
        fmt::format("--resume {}: the scene {} contradicts that run, which is of {}; leave it out, or where "
                    "the scene has "
                    "moved say --scene {}",
                    o.resume.string(), *o.scene, run.scene.string(), *o.scene));
  if (o.moved_to) return *o.moved_to;
  if (const auto recorded = recorded_scene(run, o.resume)) return *recorded;
  throw std::runtime_error(
      fmt::format("--resume {}: the scene of that run is not at {} any more; say --scene DIR, where it is",
                  o.resume.string(), run.scene.string()));
}

void require_same_scene(const RunState& run, const Scene& scene, const std::string& where) {
  const auto now = views_of(scene);
  const auto text = [](const std::array<int64_t, 4>& v) {
    return fmt::format("{} views for training and {} for testing, the first of {}x{}", v[0], v[1], v[2],
                       v[3]);
  };
  if (run.views != std::array<int64_t, 4>{} && run.views != now)
    throw std::runtime_error(
        fmt::format("{}: is not the scene that this run began with: it has {}, that one had {}", where,
                    text(now), text(run.views)));
}

}  // namespace klab
