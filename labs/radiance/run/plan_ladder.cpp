#include "labs/radiance/run/plan_ladder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/report/table.h"
#include "harness/timing/statistics.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/field/plan_ops.h"
#include "labs/radiance/run/contact_sheet.h"
#include "labs/radiance/run/counted_ladder.h"
#include "labs/radiance/run/evaluation.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/train/backends.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr int kTourSide = 100;  // pixels of a test view, about
constexpr int kTimedEvery =
    8;  // steps, where most are one launch of a graph: few enough that the median is such a step

// Returns the op that a stage of the profile runs; "" if it is no op.
std::string op_of(const std::string& stage) {
  const std::string name = stage.substr(0, stage.find(' '));
  const auto& ops = plan_ops();
  return std::find(ops.begin(), ops.end(), name) == ops.end() ? "" : name;
}

// Makes one untimed step, then the timed ones, and keeps the losses of all. A fast plan makes more steps,
// until `at_least` seconds are over, so that a short disturbance is not all that was measured.
void measure(Trainer& trainer, PlanRung& rung, int steps, double at_least) {
  using Clock = std::chrono::steady_clock;
  trainer.use(rung.plan);
  std::vector<double> losses = {trainer.step(0).loss};
  trainer.profile().clear();
  std::vector<double> seconds;
  double spent = 0;
  for (int i = 0; i < steps || spent < at_least; ++i) {
    const auto begin = Clock::now();
    const double loss = trainer.step(0).loss;
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    spent += seconds.back();
    if (i < steps) losses.push_back(loss);
  }
  rung.seconds.push_back(median(seconds));
  rung.losses = losses;
  for (const auto& [stage, s] : trainer.profile().seconds()) rung.profile.add(stage, s);
}

std::string largest_stages(const Profile& profile, size_t count) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [stage, s] : profile.seconds()) sorted.emplace_back(s, stage);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (size_t i = 0; i < std::min(count, sorted.size()); ++i)
    text += fmt::format("{}{} {:.0f} %", i ? ", " : "", sorted[i].second,
                        100 * sorted[i].first / profile.total());
  return text;
}

/// Returns the plan of pictures with the rungs of a plan of steps.
Plan picture_plan(const Plan& steps, const FieldModel& model, const BackendChoice& place, CallTimes& times) {
  const std::vector<PlannedCall> calls = model.picture_calls(place);
  VariantIds ids = steps.ids();
  std::erase_if(ids, [&](const auto& chosen) {
    return std::ranges::none_of(calls, [&](const PlannedCall& call) { return call.op == chosen.first; });
  });
  return Plan::fixed(ids, "of the ladder", calls, times, place.ladder);
}

struct SmallScore {
  Score score;
  ContactSheet sheet;
};

/// Scores a field on a few test views, made smaller, and keeps their contact sheet.
SmallScore small_score(const FieldModel& model, const Scene& scene, const PictureMaker& pictures) {
  std::vector<View> views;
  const size_t count = std::min<size_t>(ContactSheet::kRows, scene.test.size());
  for (size_t i = 0; i < count; ++i) {
    views.push_back(scene.test[i * scene.test.size() / count]);
    const int side = std::max(views.back().camera.width, views.back().camera.height);
    reduce_view(views.back(), std::max(1, side / kTourSide));
  }
  const ScoreScope scope = begin_scope(views, kScoreAll);
  SmallScore out{{}, ContactSheet(scope.views)};
  const bool black = model.placement().black;
  std::vector<ViewScore> scores =
      score_views(pictures.render(), black, views, scope,
                  [&](const View& view, const Picture& picture, const ViewScore& score) {
                    out.sheet.add(view, picture, score, black);
                  });
  out.score = score_of(std::move(scores), scope.width, scope.height, black, scored_by(scope));
  return out;
}

/// Writes the sheet of the tour next to its report: to the working folder, or if that is not writable to the temporary one.
void show_sheet(const SmallScore& small) {
  std::error_code error;
  for (const fs::path& folder : {fs::current_path(error), fs::temp_directory_path(error)}) {
    if (folder.empty()) continue;
    try {
      const fs::path file = folder / "klab-contact-sheet.png";
      small.sheet.save(file);
      fmt::print("the trained field has {:.2f} dB on {} small test views, shown in {}:\n{}\n",
                 small.score.psnr, small.score.views.size(), file.string(), small.sheet.legend());
      return;
    } catch (const FileError&) {
    }
  }
}

}  // namespace

CheckpointFile::CheckpointFile(const Trainer& trainer)
    : file_(fs::temp_directory_path() / fmt::format("klab_plans_{}.safetensors", ::getpid())) {
  trainer.save(file_, {});
}

CheckpointFile::~CheckpointFile() {
  std::error_code ignored;
  fs::remove(file_, ignored);
}

void CheckpointFile::restore(Trainer& trainer) const { trainer.restore(TensorFile(file_)); }

double loss_bound(size_t step) { return step == 0 ? 1e-4 : 0.02 * double(step); }

std::vector<PlanRung> measure_plans(const Scene& scene, const Config& config, const Plan& naive_plan,
                                    const Plan& best, const PlanLadderOptions& options, const LabRun& run,
                                    const std::function<void(const FieldTrainer&)>& trained) {
  const auto stop = [&] { return run.stop && run.stop(); };
  const auto say = [&](const std::string& line) {
    if (run.status) run.status(line);
  };
  const BackendChoice where = backend_named(run.backend);
  Trainer trainer(scene, config, best, run.seed, where.backend, where.sizes);
  const bool recorded = bool(where.backend.record);
  if (recorded) trainer.time_every(kTimedEvery);
  for (int i = 0; i < options.warm_steps && !stop(); ++i) {
    if (i % 8 == 0)
      say(fmt::format("training to a common starting point: step {} of {}", i, options.warm_steps));
    trainer.step(0);
  }
  const CheckpointFile start(trainer);
  PlanRung naive = {"naive", naive_plan, {}, {}, {}};
  say("the naive plan, to see which op to replace first");
  measure(trainer, naive, recorded ? 2 * kTimedEvery : 1, 0);
  std::map<std::string, double> share;
  for (const auto& [stage, seconds] : naive.profile.seconds())
    if (const std::string op = op_of(stage); !op.empty()) share[op] += seconds;
  std::vector<PlanRung> rungs = plan_rungs(naive_plan, best, share);
  for (int round = 0; round < options.rounds; ++round) {
    for (PlanRung& rung : rungs) {
      if (stop()) break;
      say(fmt::format("round {} of {}: {}", round + 1, options.rounds, rung.name));
      start.restore(trainer);
      measure(trainer, rung, options.steps, options.seconds);
    }
    if (!stop()) continue;
    for (PlanRung& rung : rungs) rung.seconds.resize(std::min(rung.seconds.size(), size_t(round)));
    break;
  }
  say("");
  if (trained && !stop()) trained(trainer);
  return rungs;
}

double disagreement(const PlanRung& rung, const PlanRung& first) {
  double worst = 0;
  for (size_t i = 0; i < rung.losses.size(); ++i) {
    const double difference = std::abs(rung.losses[i] - first.losses[i]) / first.losses[i];
    worst = std::max(worst, difference <= INFINITY ? difference / loss_bound(i) : INFINITY);
  }
  return worst;
}

bool run_plan_ladder(const LabRun& run) {
  if (run.backend == "simt") return run_counted_ladder(run);
  const Config config;
  CallTimes times = times_here();
  const std::string rungs_of = backend_named(run.backend).ladder;
  Plan::require({}, "best", training_calls(config, 1), rungs_of);
  const Scene scene = load_scene("built-in", {.downscale = 1, .holdout = 8, .seed = run.seed, .say = {}});
  const PlanLadderOptions options;
  fmt::print(
      "{} views of the built-in scene, {} samples per step; every plan takes the same {} steps, {} times "
      "over,\n"
      "from one checkpoint after {} steps, and as many more as {} s have room for\n",
      scene.train.size(), config.batch_samples, options.steps + 1, options.rounds, options.warm_steps,
      options.seconds);
  const std::vector<PlannedCall> calls = training_calls(config, scene.cascades);
  const Plan naive = Plan::named("naive", calls, times, rungs_of),
             best = Plan::named("best", calls, times, rungs_of);
  fmt::print("{}", best.text());
  const BackendChoice place = backend_named(run.backend);
  std::optional<SmallScore> small;
  const auto score = [&](const FieldTrainer& trainer) {
    if (run.status) run.status("pictures of test views");
    FieldSettings settings;
    settings.hash = config;
    const std::unique_ptr<FieldModel> model = trained_model(settings, trainer);
    const PictureMaker pictures(*model, "best", place, times, picture_plan(best, *model, place, times));
    small = small_score(*model, scene, pictures);
    if (run.status) run.status("");
  };
  const std::vector<PlanRung> rungs = measure_plans(scene, config, naive, best, options, run, score);
  if (rungs.front().seconds.empty()) return true;  // interrupted before the first round was complete
  Table table({{"plan"},
               {"step", Column::Kind::right},
               {"over naive", Column::Kind::right},
               {"", Column::Kind::bar, 16},
               {"largest stages"},
               {"loss apart", Column::Kind::right}});
  bool right = true;
  for (const PlanRung& rung : rungs) {
    const Estimate step = median_interval(rung.seconds);
    const Estimate speedup = ratio_interval(rungs.front().seconds, rung.seconds);
    const double apart = disagreement(rung, rungs.front());
    right = right && apart <= 1;
    table.add({rung.name, seconds_text(step.value), fmt::format("{:.2f}x", speedup.value),
               Cell::bar(speedup.value), largest_stages(rung.profile, 3),
               Cell(fmt::format("{:.1f} %", 100 * apart), apart <= 1 ? Ink::plain : Ink::red)});
  }
  fmt::print("{}", table.text());
  fmt::print(
      "step: median of {} rounds. loss apart: largest difference to the naive plan's losses, in percent of "
      "what\n"
      "rounding explains ({} of the loss before the first update, {} a step after it)\n",
      rungs.front().seconds.size(), loss_bound(0), loss_bound(1));
  if (small) show_sheet(*small);
  if (!right) fmt::print("{}\n", inked("A plan does not compute what the naive one does.", Ink::red));
  return right;
}

}  // namespace klab
