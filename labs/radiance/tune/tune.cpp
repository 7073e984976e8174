#include "labs/radiance/tune/tune.h"
#include "harness/timing/others_work.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "harness/core/build_info.h"
#include "harness/report/table.h"
#include "harness/timing/machine.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/train/picture_pool.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kWarmSteps = 256;  // by then the occupancy grid knows the empty space
constexpr double kWarmSeconds = 10;
constexpr size_t kJudges = 4;          // views for scoring batches
constexpr double kAlikeTune = 0.1;     // dB: the difference between two seeds of one training
constexpr int64_t kLeastTuned = 4096;  // samples of the smallest batch
constexpr int64_t kMostTuned = 1 << 20;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Restores OpenMP's number of threads at its end.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// A file that is removed with this object.
class Kept {
 public:
  explicit Kept(const std::string& name)
      : path_(fs::temp_directory_path() / fmt::format("klab_tune_{}_{}.safetensors", getpid(), name)) {}
  ~Kept() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  const fs::path& path() const { return path_; }
  bool there() const {
    std::error_code ignored;
    return fs::exists(path_, ignored);
  }

 private:
  fs::path path_;
};

class Search {
 public:
  Search(const TuneOptions& options, CallTimes& times, std::FILE* words)
      : o_(options), times_(times), words_(words), place_(backend_named(options.backend)) {}

  TuneResult all() {
    const auto begin = Clock::now();
    const OthersWork others;
    read_scene();
    result_.tuned = {.field = o_.settings.field,
                     .backend = o_.backend,
                     .recipe = recipe_of(o_.settings),
                     .threads = omp_get_max_threads(),
                     .scene = scene_.name,
                     .date = fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr))),
                     .commit = build_info().commit};
    if (o_.backend != "simt") {
      warm_up();
      find_threads();
      find_pictures();
    }
    find_blocks();
    find_batch();
    result_.tuned.took = since(begin);
    result_.others = others.threads();
    result_.interrupted = stop_requested;
    progress_.clear();
    return std::move(result_);
  }

 private:
  void read_scene() {
    const bool turns = o_.resident > 0;
    scene_ = load_scene_visibly(
        o_.scene, {.downscale = o_.downscale,
                   .holdout = o_.holdout,
                   .seed = o_.seed,
                   .say = [&](const std::string& text) { fmt::print(words_, "{}\n", text); },
                   .pictures = turns ? SceneOptions::Pictures::on_disk : SceneOptions::Pictures::decoded});
    scene_.test.clear();
    if (turns && (scene_.train.empty() || !scene_.train.front().source))
      throw std::runtime_error("--resident: the pictures of this scene are made here and stay in memory");
    if (!o_.batch) return;
    if (scene_.train.size() < 2)
      throw std::runtime_error(
          "--batch scores trainings on views that they leave out, and this scene has one");
    const size_t every = std::max<size_t>(2, scene_.train.size() / kJudges);
    std::vector<View> learned;
    for (size_t i = 0; i < scene_.train.size(); ++i) {
      const bool judge = i % every == every - 1 && judges_.size() < kJudges;
      (judge ? judges_ : learned).push_back(std::move(scene_.train[i]));
    }
    scene_.train = std::move(learned);
    if (turns) load_pictures_visibly(judges_);
  }

  /// Returns the plan of the runs; for ops that it leaves open, the fastest rungs with the present threads.
  Plan best_plan() { return plan_of(o_.settings, plan_ids(o_.plan, calls_of(o_.settings), place_.ladder)); }

  /// Returns a plan of the same rungs for another batch, without timing them again.
  Plan plan_of(const FieldSettings& settings, const VariantIds& rungs) {
    return Plan::fixed(rungs, o_.plan, calls_of(settings), times_, place_.ladder);
  }

  std::vector<PlannedCall> calls_of(const FieldSettings& settings) const {
    return run_calls(settings, scene_.cascades, place_.ladder);
  }

  std::unique_ptr<FieldTrainer> trainer_for(const FieldSettings& settings, const Plan& plan,
                                            PicturePool* pool = nullptr) {
    return make_trainer(settings, scene_, plan, o_.seed, place_, {.pool = pool, .share = {}});
  }

  /// Trains to the common starting point of every race.
  void warm_up() {
    const Plan plan = best_plan();
    std::unique_ptr<PicturePool> pool = pool_of(1, 2);
    const auto trainer = trainer_for(o_.settings, plan, pool.get());
    const auto begin = Clock::now();
    while (trainer->steps_done() < kWarmSteps && since(begin) < kWarmSeconds && !stop_requested) {
      if (trainer->steps_done() % 8 == 0)
        progress_.show(
            fmt::format("training to a common point: step {} of {}", trainer->steps_done(), kWarmSteps));
      trainer->step(0);
    }
    trainer->save(start_.path(), {});
  }

  std::unique_ptr<PicturePool> pool_of(int workers, int64_t ahead) {
    if (o_.resident == 0) return nullptr;
    return std::make_unique<PicturePool>(scene_.train,
                                         PicturePool::Options{.resident = o_.resident,
                                                              .ahead = ahead,
                                                              .workers = workers,
                                                              .seed = o_.seed,
                                                              .cache = fs::temp_directory_path()});
  }

  /// Measures seconds for each sample, in steps from the common point; one step before them is not counted.
  double pace(const Plan& plan, PicturePool* pool, double seconds) {
    const auto trainer = trainer_for(o_.settings, plan, pool);
    trainer->restore(TensorFile(start_.path()));
    trainer->step(0);
    double samples = 0;
    const auto begin = Clock::now();
    do samples += double(trainer->step(0).samples);
    while (since(begin) < seconds && !stop_requested);
    return since(begin) / std::max(samples, 1.0);
  }

  RaceOptions race_options() const {
    return {.stop = [] { return bool(stop_requested); }};
  }

  void say_round(const char* what, const Racer& racer) {
    progress_.show(fmt::format("{}: round {} of {}", what, racer.seconds.size() + 1, racer.name));
  }

  void find_threads() {
    if (o_.fixed_threads || stop_requested) return;
    std::vector<int> counts = {omp_get_max_threads()};
    const int cores = std::max(1, this_machine().cores);
    if (cores < counts[0]) counts.push_back(cores);
    for (int n = counts[0] / 2; n > 0; n /= 2)
      if (n != cores) counts.push_back(n);
    std::vector<Plan> plans;
    for (const int n : counts) {
      const Threads threads(n);
      plans.push_back(best_plan());
      result_.threads.push_back({.name = fmt::format("{} thread{}", n, n == 1 ? "" : "s")});
    }
    const size_t best = race(
        result_.threads,
        [&](size_t i) {
          say_round("threads", result_.threads[i]);
          const Threads threads(counts[i]);
          const auto pool = pool_of(1, 2);
          return pace(plans[i], pool.get(), o_.round);
        },
        race_options());
    result_.tuned.threads = counts[best];
    result_.tuned.threads_gain = times_as_slow(result_.threads[best], result_.threads[0]);
  }

  void find_pictures() {
    if (o_.resident == 0 || stop_requested) return;
    struct Choice {
      int workers;
      int64_t ahead;
    };
    const std::vector<Choice> choices = {{1, 2}, {1, 1}, {1, 4}, {1, 8}, {2, 2}, {2, 4}, {2, 8}};
    for (const Choice& c : choices)
      result_.pictures.push_back(
          {.name = fmt::format("{} worker{}, {} ahead", c.workers, c.workers == 1 ? "" : "s", c.ahead)});
    const Threads threads(result_.tuned.threads);
    const Plan plan = best_plan();
    const size_t best = race(
        result_.pictures,
        [&](size_t i) {
          say_round("pictures", result_.pictures[i]);
          const auto pool = pool_of(choices[i].workers, choices[i].ahead);
          return pace(plan, pool.get(), 4 * o_.round);  // several turns
        },
        race_options());
    result_.tuned.workers = choices[best].workers;
    result_.tuned.ahead = choices[best].ahead;
    result_.tuned.pictures_gain = times_as_slow(result_.pictures[best], result_.pictures[0]);
  }

  void find_blocks() {
    if (place_.ladder != "cuda" || stop_requested) return;
    const Threads threads(result_.tuned.threads);
    const Plan plan = best_plan();
    const std::vector<PlannedCall> calls = calls_of(o_.settings);
    if (o_.backend == "simt")
      result_.blocks = blocks_by_counts(
          plan, calls, [&](const std::string& variant) { progress_.show("counting blocks of " + variant); });
    else
      result_.blocks = blocks_by_time(
          plan, calls,
          [&](const std::string& variant) {
            progress_.show("timing steps with other blocks of " + variant);
            return pace(plan, nullptr, o_.round);
          },
          race_options());
    result_.tuned.blocks_by = o_.backend == "simt" ? "counts" : "time";
    for (const BlockChoice& c : result_.blocks) {
      if (c.threads != c.usual) result_.tuned.blocks[c.variant] = c.threads;
      // Each rung was tuned with the others at their usual sizes.
      if (o_.backend != "simt") result_.tuned.blocks_gain *= c.gain;
    }
  }

  /// A training with another batch: its settings, its file between stages, and its time so far.
  struct Training {
    FieldSettings settings;
    Plan plan;
    std::unique_ptr<Kept> kept;
    double seconds = 0;
  };

  void find_batch() {
    if (!o_.batch || stop_requested) return;
    const int64_t own = batch_samples(o_.settings);
    const Threads threads(result_.tuned.threads);
    const VariantIds rungs = best_plan().ids();
    std::vector<Training> trainings;
    for (const double factor : {1.0, 0.5, 2.0, 4.0, 0.25}) {
      const auto samples = int64_t(factor * double(own));
      if (factor != 1 && (samples < kLeastTuned || samples > kMostTuned)) continue;
      FieldSettings settings = o_.settings;
      settings.hash.batch_samples = samples;
      settings.hash.first_rays = std::min(settings.hash.first_rays, samples);
      trainings.push_back(
          {settings, plan_of(settings, rungs), std::make_unique<Kept>(std::to_string(samples))});
      result_.batch.push_back({.name = fmt::format("{} samples", samples)});
    }
    const size_t best =
        halve(result_.batch,
              [&](size_t i, double until) { return trained_on(trainings[i], until, result_.batch[i].name); },
              {.seconds = o_.seconds, .same = kAlikeTune, .stop = [] { return bool(stop_requested); }});
    result_.tuned.batch_samples = batch_samples(trainings[best].settings);
    result_.tuned.batch_seconds = o_.seconds;
    result_.tuned.batch_gain =
        best == 0 ? 1 : std::max(1.0, time_saved(result_.batch[best], result_.batch[0]));
  }

  /// Continues the training to `until` seconds and returns its score on the judges, dB.
  double trained_on(Training& training, double until, const std::string& name) {
    const auto pool = pool_of(std::max(1, result_.tuned.workers), std::max<int64_t>(1, result_.tuned.ahead));
    const auto trainer = trainer_for(training.settings, training.plan, pool.get());
    if (training.kept->there()) trainer->restore(TensorFile(training.kept->path()));
    auto shown = Clock::now() - std::chrono::hours(1);
    while (training.seconds < until && !stop_requested) {
      const auto begin = Clock::now();
      trainer->step(training.seconds / o_.seconds);
      training.seconds += since(begin);
      if (since(shown) < 0.5) continue;
      shown = Clock::now();
      progress_.show(fmt::format("batch of {}: {:.0f} of {:.0f} s", name, training.seconds, until));
    }
    if (stop_requested) return 0;
    trainer->save(training.kept->path(), {});
    const auto model = trained_model(training.settings, *trainer);
    const std::optional<Plan> plan = o_.backend == "cpu" ? std::optional(training.plan) : std::nullopt;
    const PictureMaker pictures(*model, "best", place_, times_, plan);
    return evaluate(pictures.render(), model->placement().black, judges_).psnr;
  }

  const TuneOptions& o_;
  CallTimes& times_;
  std::FILE* words_;
  BackendChoice place_;
  Scene scene_;
  std::vector<View> judges_;
  Kept start_{"start"};
  Progress progress_;
  TuneResult result_;
};

}  // namespace

TuneResult tune(const TuneOptions& options, CallTimes& times, std::FILE* words) {
  if (options.resident > 0 && options.settings.field != kFieldOfExtras)
    throw std::runtime_error(
        fmt::format("--field {}: only --field {} can learn from pictures that take turns; "
                    "leave out --resident",
                    options.settings.field, kFieldOfExtras));
  if (options.batch && options.settings.field != kFieldOfExtras)
    throw std::runtime_error(fmt::format("--batch: that of --field {} has one size; only --field {} can",
                                         options.settings.field, kFieldOfExtras));
  if (options.batch && options.backend == "simt")
    throw std::runtime_error(
        "--batch --backend simt: no time on the host executor is a GPU's; take --backend cuda or cpu");
  const std::string ladder = backend_named(options.backend).ladder;
  const std::vector<PlannedCall> calls = run_calls(options.settings, 1, ladder);
  Plan::require(plan_ids(options.plan, calls, ladder), options.plan, calls, ladder);
  return Search(options, times, words).all();
}

}  // namespace klab
