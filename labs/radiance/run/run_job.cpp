#include "labs/radiance/run/run_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/memory_left.h"
#include "labs/radiance/run/precision.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/settings_matrix.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/stop.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr double kLargeGrid = 1 << 24;  // cells from which on evaluating all of them takes seconds
constexpr int64_t kLearnedSteps = 256;  // from which on a field is timed as one that has learned

int64_t held_bytes(const std::vector<View>& views) {
  int64_t bytes = 0;
  for (const View& v : views) bytes += reserved_bytes(v.image.rgba, v.depth);
  return bytes;
}

}  // namespace

RunJob::RunJob(RunOptions options, CallTimes& times)
    : run_(std::move(options), times),
      ranks_(run_),
      relief_(run_),
      loop_(run_, ranks_, relief_),
      result_(run_) {}

RunJob::~RunJob() {
  if (run_.options.viewer) run_.options.viewer->end();
}

int RunJob::run() {
  try {
    try {
      return go();
    } catch (const GpuOutOfMemory& e) {
      throw OutOfMemory(fmt::format("an allocation failed on the GPU ({})", e.what()));
    } catch (const std::bad_alloc&) {
      throw OutOfMemory("an allocation failed");
    }
  } catch (const OutOfMemory& e) {
    fmt::print(stderr, "{}", peaks_text(run_.memory.account));
    throw std::runtime_error(
        fmt::format("out of memory: {}; {}; {} says more", e.what(), run_.resume_hint(), kTroubleshooting));
  }
}

int RunJob::go() {
  const RunOptions& o = run_.options;
  if (run_.ranks.first()) require_unused(o.out);
  if (!o.resume.empty()) take_over();
  require_backend(o.settings, o.backend);
  if (o.recompute) require_option_of_field("--recompute", o.settings.field);
  require_batch_limits();
  ranks_.require_options();
  require_options_of_watching();
  if (!o.seconds && !o.steps) run_.options.seconds = 60;
  choose_plan();
  read_scene();
  require_options_of_watching();
  open_folder();
  // From here on a signal ends the run in order, also while rungs are timed.
  const StopSignals signals;
  run_.plan = plan_of_all();
  announce_grid();
  open_pool();
  std::unique_ptr<FieldModel> model;
  {
    const std::unique_ptr<FieldTrainer> trainer = make_trainer();
    if (checkpoint_) {
      trainer->restore(*checkpoint_);
      checkpoint_.reset();
      fmt::print(run_.out, "resumed   at step {}, {}\n", trainer->steps_done(),
                 duration_text(run_.state.seconds));
    }
    std::fflush(run_.out);
    with_resume_hint(*trainer, [&] {
      announce_score(*trainer);
      loop_.train(*trainer);
      const MemoryOwner owner("scratch");
      model = trained_model(o.settings, *trainer);
    });
    if (run_.ranks.first()) result_.report(*trainer, *model, loop_, ranks_, relief_);
  }
  result_.count_a_step();
  run_.pool.reset();
  if (run_.ranks.first()) result_.save_model(*model);
  result_.evaluate(*model);
  if (run_.ranks.first()) result_.write();
  run_.ranks.wait_for_all();
  return stop_requested ? 130 : 0;
}

// Restores the checkpoint's settings; those given on the command line (budget, plan) stay.
void RunJob::take_over() {
  if (run_.ranks.first()) run_.folder.emplace(RunFolder::reopen(run_.options.resume));
  if (run_.ranks.first()) result_.keep(EarlierResult::in(run_.options.resume));
  checkpoint_.emplace(run_.options.resume / "checkpoint.safetensors");
  ranks_.name_checkpoint(run_.options.resume);
  const std::string field = field_of(*checkpoint_);
  if (run_.options.field && *run_.options.field != field)
    throw std::runtime_error(
        fmt::format("--resume {}: --field {} contradicts that run, which has the field {}; leave it out, "
                    "or begin a new run",
                    run_.options.resume.string(), *run_.options.field, field));
  run_.options.settings = field_settings(field, checkpoint_->metadata("config"), "the checkpoint's config");
  run_.state = run_state_in(*checkpoint_);
  if (run_.state.ladder != run_.place.ladder)
    run_.state.plan.clear();  // its rungs do not exist here: choose again
  run_.state.ladder = run_.place.ladder;
  scene_name_ = resumed_scene(run_.options, run_.state);
  if (run_.options.seconds || run_.options.steps) return;
  if (run_.state.budget_seconds > 0) run_.options.seconds = run_.state.budget_seconds;
  if (run_.state.budget_steps > 0) run_.options.steps = run_.state.budget_steps;
}

// Uses the resumed run's plan unless another is asked for; in another precision the part of it whose rungs serve
// both. Runs before the scene is read, which may be large; the number of cascades is checked later, when it is known.
void RunJob::choose_plan() {
  const bool converted =
      run_.options.precision && *run_.options.precision != run_.state.precision && !run_.state.plan.empty();
  if (converted) {
    fmt::print(run_.out, "{}", conversion_text(run_.state.precision, *run_.options.precision));
    run_.state.plan = plan_for_any_precision(std::move(run_.state.plan), run_.place.ladder);
  }
  take_precision(run_.options, run_.state);
  const bool as_before = !run_.options.plan && !run_.state.plan.empty();
  where_ = as_before ? "of the checkpoint (--plan best chooses again)" : run_.options.plan.value_or("best");
  const std::vector<PlannedCall> calls = run_calls(run_.options.settings, 1, run_.place.ladder);
  wanted_ = as_before ? run_.state.plan : plan_ids(where_, calls, run_.place.ladder);
  Plan::require(wanted_, where_, calls, run_.place.ladder);
}

void RunJob::require_batch_limits() {
  RunOptions& o = run_.options;
  o.pressure.reserve = o.reserve;
  if (o.least_batch) require_option_of_field("--least-batch", o.settings.field);
  if (o.most_batch) require_option_of_field("--most-batch", o.settings.field);
  const int64_t batch = batch_samples(o.settings);
  if (o.least_batch && *o.least_batch > batch)
    throw std::runtime_error(
        fmt::format("--least-batch {}: the batch has {} samples; give fewer, or a larger \"batch_samples\"",
                    *o.least_batch, batch));
  if (o.most_batch && *o.most_batch < batch)
    throw std::runtime_error(fmt::format(
        "--most-batch {}: the batch has {} samples already; give more, or a smaller \"batch_samples\"",
        *o.most_batch, batch));
  if (o.most_batch && o.pressure.off())
    throw std::runtime_error(
        "--most-batch: the batch grows by the rule of --pressure, which is off; leave one out");
  if (o.most_batch && run_.ranks.size() > 1)
    throw std::runtime_error("--most-batch: is for one process, since all would have to agree; leave it out");
}

void RunJob::require_options_of_watching() const {
  if (run_.options.eval_every && run_.ranks.size() > 1)
    throw std::runtime_error(
        "--eval-every: is for one process, since the others would wait; leave it out, and klab eval scores "
        "the run");
  if ((run_.options.plateau || run_.options.patience) && !run_.options.eval_every)
    throw std::runtime_error(fmt::format("{}: counts the scores of --eval-every: give that too",
                                         run_.options.plateau ? "--plateau" : "--patience"));
  if (run_.options.retry_not_finite && run_.ranks.size() > 1)
    throw std::runtime_error(
        "--on-nan retry: is for one process; leave it out, and --resume goes back by hand");
  if (run_.options.retry_not_finite && run_.memory.choice.resident > 0)
    throw std::runtime_error(
        "--on-nan retry: needs all pictures in memory, since their turns do not go back; give more --memory, "
        "or "
        "leave out --resident");
  if (run_.options.eval_every && !run_.scene.name.empty() && run_.scene.test.empty())
    throw std::runtime_error("--eval-every: the scene has no test views; give --holdout 8");
}

void RunJob::read_scene() {
  if (run_.options.resume.empty()) {
    scene_name_ = run_.options.scene.value_or("built-in");
    run_.state.downscale = run_.options.downscale.value_or(1);
    run_.state.holdout = run_.options.holdout.value_or(8);
    run_.state.seed = run_.options.seed.value_or(1);
  }
  const auto say = [&](const std::string& text) {
    fmt::print(run_.out, "{}\n", text);
    std::fflush(run_.out);
  };
  run_.scene = load_scene_visibly(scene_name_, {.downscale = run_.state.downscale,
                                                .holdout = run_.state.holdout,
                                                .seed = run_.state.seed,
                                                .say = say,
                                                .depth = weighs_depth(run_.options.settings),
                                                .pinhole = run_.options.settings.field == "gaussians",
                                                .pictures = SceneOptions::Pictures::on_disk});
  for (const std::string& note : run_.scene.notes) fmt::print(run_.out, "note      {}\n", note);
  if (checkpoint_) require_same_scene(run_.state, run_.scene, scene_name_);
  run_.state.views = views_of(run_.scene);
  if (run_.options.score) run_.state.score = *run_.options.score;
  run_.scope =
      begin_scope(run_.scene.test, run_.state.score);  // before pictures are read and memory is planned
  calls_ = run_calls(run_.options.settings, run_.scene.cascades, run_.place.ladder);
  Plan::require(wanted_, where_, calls_, run_.place.ladder);
  fmt::print(run_.out, "trainer   {}, {} samples per step\n", run_.options.settings.field,
             batch_samples(run_.options.settings));
  ranks_.require_alike(steps_before());
  plan_memory();
  if (run_.options.after_reading) run_.options.after_reading(run_.scene);
}

MemoryFacts RunJob::memory_facts() const {
  const int64_t read = checkpoint_ ? int64_t(checkpoint_->data_bytes()) : 0;
  MemoryFacts facts{.scene = &run_.scene,
                    .sizes = run_.place.sizes,
                    .timed = calls_,
                    .program = resident_memory() - read,
                    .workers = run_.options.workers,
                    .ahead = run_.options.ahead,
                    .pictures_here = run_.place.backend.in_host_memory,
                    .load_room = run_.place.backend.load_room,
                    .evaluated = run_.options.evaluate,
                    .resumed = read,
                    .parts = run_.parts(),
                    .own_parts = run_.parts() / run_.ranks.size(),
                    .least_batch = run_.options.least_batch.value_or(kLeastBatch)};
  if (run_.options.settings.field == kFieldOfExtras) return facts;
  facts.trainer = trainer_bytes(run_.options.settings, run_.scene, run_.place);
  facts.model = model_bytes(run_.options.settings, run_.scene.cascades);
  facts.trainer_text = fmt::format("{}: parameters, optimizer, batch, at most", run_.options.settings.field);
  facts.remedy = remedy_of(run_.options.settings);
  return facts;
}

// Chooses what fits into the budget before any picture is read.
void RunJob::plan_memory() {
  const MemoryFacts facts = memory_facts();
  run_.budget = memory_budget(run_.options.memory, facts.program, run_.options.reserve);
  if (!run_.options.memory) run_.budget.bytes /= run_.ranks.size();  // they share the free memory
  const auto views = int64_t(run_.scene.train.size());
  const int64_t resident =
      run_.options.resident && *run_.options.resident < views ? *run_.options.resident : 0;
  if (resident > 0 && !run_.scene.train.front().source)
    throw std::runtime_error("--resident: the pictures of this scene are made here and stay in memory");
  run_.memory = fit_memory(
      facts, {.config = run_.options.settings.hash, .resident = resident, .cold = cold_share(run_.budget)},
      run_.budget);
  if (run_.ranks.size() > 1) ranks_.take_first_ranks_memory();
  fmt::print(run_.out, "{}", account_text(run_.memory.account, run_.budget));
  if (!run_.memory.smaller.empty())
    fmt::print(run_.out, "to fit    {}\n", fmt::join(run_.memory.smaller, ", "));
  limit_growth(facts);
  std::fflush(run_.out);
  run_.options.settings.hash = run_.memory.choice.config;
  run_.times.limit_cold_copies(run_.memory.choice.cold);
  calls_ = run_calls(run_.options.settings, run_.scene.cascades, run_.place.ladder);
  require_room_for_it(facts);
  if (run_.memory.choice.resident > 0) return require_turns(run_.options.settings);
  if (!run_.options.for_turns.empty())
    throw std::runtime_error(fmt::format(
        "{}: all {} pictures stay in memory, and none is read in its turn; leave it out, or give --resident",
        fmt::join(run_.options.for_turns, ", "), views));
  load_pictures_visibly(run_.scene.train);
  load_pictures_visibly(run_.scene.test);
  const MemoryOwner owner("pictures");
  run_.pictures.emplace();
  run_.pictures->set(held_bytes(run_.scene.train) + held_bytes(run_.scene.test));
}

// The batch doubles to the largest one that fits into the budget.
void RunJob::limit_growth(const MemoryFacts& facts) {
  if (!run_.options.most_batch) return;
  MemoryChoice larger = run_.memory.choice;
  const int64_t planned = larger.config.batch_samples;
  int64_t most = planned;
  while (2 * most <= *run_.options.most_batch) {
    larger.config.batch_samples = 2 * most;
    if (memory_account(facts, larger).total() > run_.budget.bytes) break;
    most *= 2;
  }
  run_.options.most_batch = most;
  fmt::print(run_.out, "batch     {} samples, up to {} while memory is plentiful\n", planned, most);
}

void RunJob::require_room_for_it(const MemoryFacts& facts) const {
  const std::string remedy = remedy_of(run_.options.settings);
  if (!facts.pictures_here)
    require_room(run_.place.backend,
                 trainer_bytes(run_.options.settings, run_.scene, run_.place) + run_.options.reserve,
                 run_.options.reserve > 0 ? "the run with --reserve" : "the run", remedy);
  require_memory(run_.memory.account.total() - facts.program, "the run", remedy);
}

void RunJob::open_folder() {
  if (!run_.ranks.first()) return;
  if (!run_.folder) run_.folder.emplace(RunFolder::create(run_.options.out, run_.scene.name));
  const int64_t model = model_bytes(run_.options.settings, run_.scene.cascades);
  run_.folder->require_writable(5 * model, 4 * model);
  fmt::print(run_.out, "output    {}\n", run_.folder->path().string());
  std::fflush(run_.out);
  run_.state.scene = scene_name_;
  if (scene_name_ != "built-in") {
    std::error_code error;
    run_.state.scene = fs::absolute(scene_name_);
    run_.state.scene_from_run = fs::relative(run_.state.scene, run_.folder->path(), error);
  }
  to_metadata(run_.state);  // fail now rather than at the first checkpoint
}

// The first rank times rungs if needed, and all use its choice.
Plan RunJob::plan_of_all() {
  std::string text, folder;
  std::optional<Plan> plan;
  if (run_.ranks.first()) {
    plan.emplace(Plan::fixed(wanted_, where_, calls_, run_.times, run_.place.ladder,
                             unit_of_precision(run_.state.precision)));
    text = to_json_text(*plan);
    folder = run_.folder->path().string();
    write_file(run_.folder->file("plan.json"), text);
    fmt::print(run_.out, "{}{}", plan->text(),
               precision_text(*plan, calls_, run_.state.precision, run_.place.ladder, run_.state.loss_scale));
    if (run_.times.stood_in() > 0)
      fmt::print(run_.out,
                 "note      {} of {} rungs are those that klab ships with; --plan best times all of them "
                 "here, once\n",
                 run_.times.stood_in(), plan->choices().size());
  }
  if (run_.ranks.size() > 1) {
    run_.ranks.wait_for_all();
    run_.ranks.broadcast(text);
    run_.ranks.broadcast(folder);
    ranks_.name_checkpoint(folder);
    if (!run_.ranks.first())
      plan.emplace(
          Plan::fixed(plan_from_json(text, "the first rank's plan", std::string(CompositeLossBwd::name)),
                      "of the first rank", calls_, run_.times, run_.place.ladder,
                      unit_of_precision(run_.state.precision)));
    fmt::print(run_.out, "ranks     {} processes, {} samples of a step and {} threads each; exchange {}\n",
               run_.ranks.size(), batch_samples(run_.options.settings) / run_.ranks.size(),
               omp_get_max_threads(), run_.options.exchange);
  }
  run_.shared_folder = folder;
  run_.state.plan = plan->ids();
  return *plan;
}

// Opens the pool if not all pictures are kept in memory.
void RunJob::open_pool() {
  if (run_.memory.choice.resident == 0) return;
  run_.pool.emplace(run_.scene.train,
                    PicturePool::Options{.resident = run_.memory.choice.resident,
                                         .ahead = run_.options.ahead,
                                         .workers = run_.options.workers,
                                         // each rank draws its own
                                         .seed = run_.state.seed + uint64_t(run_.ranks.rank()),
                                         .cache = run_.shared_folder},
                    steps_before() / PictureTurns::kEvery);
}

void RunJob::announce_grid() const {
  const auto cells = double(grid_cells(run_.options.settings, run_.scene.cascades));
  if (cells < kLargeGrid) return;
  fmt::print(run_.out,
             "grid      {:.0f} M cells: that and the first updates, which look at all of them, take a "
             "while before the first step (\"grid\" in the config makes it smaller)\n",
             cells * 1e-6);
  std::fflush(run_.out);
}

// Times the field as it is now. A field that has not learned yet has no empty space to skip; learned_share() says how
// much less time it will take.
void RunJob::announce_score(const FieldTrainer& trainer) {
  if (!run_.options.evaluate || run_.scene.test.empty()) return;
  std::array<double, 1> pixel{};
  try {
    if (run_.ranks.first()) {
      const MemoryOwner owner("scratch");
      const std::unique_ptr<FieldModel> now = trained_model(run_.options.settings, trainer);
      const PictureMaker pictures(*now, "best", run_.place_of_pictures(), run_.times, run_.plan_of_pictures(),
                                  std::min(kProbePixels, run_.memory.choice.pixels));
      pixel[0] = seconds_per_pixel(pictures.render(), run_.scene.test.front().camera);
      if (trainer.steps_done() < kLearnedSteps)
        pixel[0] *= learned_share(run_.options.settings, run_.scene.cascades);
    }
  } catch (const std::bad_alloc&) {
    pixel[0] = 0;  // the time stays unknown, and the limit holds
  }
  run_.ranks.broadcast(pixel);
  if (run_.ranks.size() > 1)
    pixel[0] /= double(std::min<int64_t>(run_.ranks.size(), int64_t(run_.scope.views.size())));
  choose_views(run_.scope, run_.scene.test, pixel[0]);
  fmt::print(run_.out, "{}", scope_text(run_.scope, pixel[0]));
  std::fflush(run_.out);
}

// Retries with a smaller batch if there is no memory for the planned one.
std::unique_ptr<FieldTrainer> RunJob::make_trainer() {
  const TrainerExtras extras{.pool = run_.pool ? &*run_.pool : nullptr, .share = ranks_.share()};
  const auto make = [&](int64_t samples) {
    FieldSettings settings = run_.options.settings;
    settings.hash.batch_samples = samples;
    settings.hash.first_rays = std::min(settings.hash.first_rays, samples);
    const MemoryOwner owner("trainer");  // what a trainer allocates for no other owner
    return klab::make_trainer(settings, run_.scene, *run_.plan, run_.state.seed, run_.place, extras);
  };
  // With several ranks one of them cannot shrink the batch alone; other fields cannot shrink it at all.
  if (run_.ranks.size() > 1 || run_.options.settings.field != kFieldOfExtras)
    return make(run_.options.settings.hash.batch_samples);
  return relief_.shortage().made(run_.options.settings.hash.batch_samples, make);
}

// If the backend or a picture of the pool fails, adds the checkpoint to resume from to the message.
void RunJob::with_resume_hint(const FieldTrainer& trainer, const std::function<void()>& work) const {
  try {
    work();
  } catch (const NotFinite& e) {
    throw NotFinite(fmt::format("{}; {}", e.what(), remedy_of_not_finite(run_)));
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::runtime_error& e) {
    if (run_.options.backend == "cpu" && !run_.pool) throw;
    throw std::runtime_error(fmt::format("--backend {}, step {}: {}; {}", run_.options.backend,
                                         trainer.steps_done(), e.what(), run_.resume_hint()));
  }
}

/// Returns the steps of the run that is resumed; 0 for a new one.
int64_t RunJob::steps_before() const { return checkpoint_ ? Trainer::steps_in(*checkpoint_) : 0; }

}  // namespace klab
