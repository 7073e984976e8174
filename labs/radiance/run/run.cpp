#include "labs/radiance/run/run.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/json_schema.h"
#include "harness/records/memory_left.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/run/camera_list.h"
#include "labs/radiance/run/precision.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/run_job.h"
#include "labs/radiance/run/settings_matrix.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kLargeGrid = 1 << 24;  // cells from which on evaluating all of them takes seconds
constexpr int64_t kLearnedSteps = 256;  // from which on a field is timed as one that has learned

BackendChoice place_of(const RunOptions& o) {
  BackendChoice place = backend_named(o.backend);
  place.sizes.recompute = o.recompute;
  return place;
}

FILE* nowhere() {
  static FILE* const file = std::fopen("/dev/null", "w");
  return file;
}

}  // namespace

RunJob::RunJob(RunOptions options, CallTimes& times)
    : o_(std::move(options)),
      times_(times),
      words_(!ranks_.first() ? nowhere()
             : o_.json       ? stderr
                             : stdout),
      place_(place_of(o_)),
      on_a_gpu_(o_.backend == "cuda") {
  o_.json = o_.json && ranks_.first();
}

RunJob::~RunJob() {
  if (o_.viewer) o_.viewer->end();
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
    fmt::print(stderr, "{}", peaks_text(memory_.account));
    throw std::runtime_error(fmt::format("out of memory: {}; {}", e.what(), left()));
  }
}

int RunJob::go() {
  if (ranks_.first()) require_unused(o_.out);
  if (!o_.resume.empty()) take_over();
  require_backend(o_.settings, o_.backend);
  if (o_.recompute) require_option_of_field("--recompute", o_.settings.field);
  require_what_several_can();
  require_what_watching_can();
  if (!o_.seconds && !o_.steps) o_.seconds = 60;
  choose_plan();
  read_scene();
  require_what_watching_can();
  open_folder();
  // From here on a signal ends the run in order, also while rungs are timed.
  const StopSignals signals;
  const Plan plan = plan_of_all();
  plan_ = plan;
  announce_grid();
  open_pool();
  std::unique_ptr<FieldModel> model;
  {
    const std::unique_ptr<FieldTrainer> trainer = make_trainer(plan);
    if (checkpoint_) {
      trainer->restore(*checkpoint_);
      checkpoint_.reset();
      fmt::print(words_, "resumed   at step {}, {}\n", trainer->steps_done(), duration_text(state_.seconds));
    }
    std::fflush(words_);
    or_say_what_is_left(*trainer, [&] {
      announce_score(*trainer, plan);
      begin_view(*trainer);
      fit(*trainer);
      if (o_.viewer) viewing_took_ = o_.viewer->trained();
      save(*trainer);
      const MemoryOwner owner("scratch");
      model = trained_model(o_.settings, *trainer);
    });
    if (ranks_.first()) report(*trainer, *model);
  }
  if (counts_a_step()) count_a_step(plan);
  pool_.reset();
  if (ranks_.first()) save_model(*model, result_.at("steps"));
  evaluate_on_tests(*model, plan);
  if (ranks_.first()) write_result();
  ranks_.wait_for_all();
  return stop_requested ? 130 : 0;
}

// The first rank times rungs if needed, and all use its choice.
Plan RunJob::plan_of_all() {
  std::string text, folder;
  std::optional<Plan> plan;
  if (ranks_.first()) {
    plan.emplace(
        Plan::fixed(wanted_, where_, calls_, times_, place_.ladder, unit_of_precision(state_.precision)));
    text = to_json_text(*plan);
    folder = folder_->path().string();
    write_file(folder_->file("plan.json"), text);
    fmt::print(words_, "{}{}", plan->text(),
               precision_text(*plan, calls_, state_.precision, place_.ladder, state_.loss_scale));
    if (times_.stood_in() > 0)
      fmt::print(words_,
                 "note      {} of {} rungs are those that klab ships with; --plan best times all of them "
                 "here, once\n",
                 times_.stood_in(), plan->choices().size());
  }
  if (ranks_.size() > 1) {
    ranks_.wait_for_all();
    ranks_.broadcast(text);
    ranks_.broadcast(folder);
    name_what_is_left(folder);
    if (!ranks_.first())
      plan.emplace(Plan::fixed(plan_from_json(text, "the first rank's plan", "composite_loss_bwd"),
                               "of the first rank", calls_, times_, place_.ladder,
                               unit_of_precision(state_.precision)));
    fmt::print(words_, "ranks     {} processes, {} samples of a step and {} threads each; exchange {}\n",
               ranks_.size(), batch_samples(o_.settings) / ranks_.size(), omp_get_max_threads(), o_.exchange);
  }
  cache_ = folder;
  state_.plan = plan->ids();
  return *plan;
}

// Retries with a smaller batch if there is no memory for the planned one.
std::unique_ptr<FieldTrainer> RunJob::make_trainer(const Plan& plan) {
  TrainerExtras extras{.pool = pool_ ? &*pool_ : nullptr, .share = {}};
  const int64_t own = parts() / ranks_.size();
  extras.share.parts = parts();
  extras.share.first = own * ranks_.rank();
  extras.share.own = own;
  if (ranks_.size() > 1) connect(extras.share);
  const auto make = [&](int64_t samples) {
    FieldSettings settings = o_.settings;
    settings.hash.batch_samples = samples;
    settings.hash.first_rays = std::min(settings.hash.first_rays, samples);
    const MemoryOwner owner("trainer");  // what a trainer allocates for no other owner
    return klab::make_trainer(settings, scene_, plan, state_.seed, place_, extras);
  };
  // With several ranks one of them cannot shrink the batch alone; other fields cannot shrink it at all.
  if (ranks_.size() > 1 || o_.settings.field != kFieldOfExtras) return make(o_.settings.hash.batch_samples);
  return shortage_.made(o_.settings.hash.batch_samples, make);
}

void RunJob::save_model(const FieldModel& model, int64_t steps) {
  model_file_ = earlier_ ? earlier_->model_file(steps) : folder_->file("model.safetensors");
  model.save(model_file_);
}

void RunJob::write_result() {
  result_["peak_memory"] = peak_memory();
  result_["memory"] = memory_json(memory_, budget_);
  if (!o_.json) fmt::print("{}", peaks_text(memory_.account));
  result_ = with_schema("training", result_);
  fmt::print(words_, "memory    {:.2f} GB at most\n", double(peak_memory()) * 1e-9);
  const std::string kept = earlier_ ? earlier_->put(result_) : "";
  if (!earlier_) write_file(folder_->file("result.json"), result_.dump(2) + "\n");
  if (!kept.empty()) fmt::print(words_, "note      {}\n", kept);
  std::error_code ignored;
  fmt::print(words_, "written   {}\n",
             (fs::exists(model_file_, ignored) ? model_file_ : folder_->file("model.safetensors")).string());
  write_pictures();
  if (o_.json) fmt::print("{}\n", result_.dump(2));
}

// Comes after the result, which a full disk must not cost. A run without a new score keeps those of its last evaluation.
void RunJob::write_pictures() {
  const fs::path cameras = folder_->file("cameras.json"), sheet = folder_->file("contact_sheet.png");
  std::error_code ignored;
  if (score_ || !fs::exists(cameras, ignored))
    write_file(cameras,
               cameras_json(scene_, scope_.views, score_ ? score_->views : std::vector<ViewScore>()));
  if (sheet_.empty()) return;
  sheet_.save(sheet);
  fmt::print(words_, "sheet     {}: {}\n", sheet.string(), sheet_.legend());
}

// Restores the checkpoint's settings; those given on the command line (budget, plan) stay.
void RunJob::take_over() {
  if (ranks_.first()) folder_.emplace(RunFolder::reopen(o_.resume));
  if (ranks_.first()) earlier_ = EarlierResult::in(o_.resume);
  checkpoint_.emplace(o_.resume / "checkpoint.safetensors");
  name_what_is_left(o_.resume);
  const std::string field = field_of(*checkpoint_);
  if (o_.field && *o_.field != field)
    throw std::runtime_error(
        fmt::format("--resume {}: --field {} contradicts that run, which has the field {}; leave it out, "
                    "or begin a new run",
                    o_.resume.string(), *o_.field, field));
  o_.settings = field_settings(field, checkpoint_->metadata("config"), "the checkpoint's config");
  state_ = run_state_in(*checkpoint_);
  if (state_.ladder != place_.ladder) state_.plan.clear();  // its rungs do not exist here: choose again
  state_.ladder = place_.ladder;
  scene_name_ = resumed_scene(o_, state_);
  if (o_.seconds || o_.steps) return;
  if (state_.budget_seconds > 0) o_.seconds = state_.budget_seconds;
  if (state_.budget_steps > 0) o_.steps = state_.budget_steps;
}

// Uses the resumed run's plan unless another is asked for; in another precision the part of it whose rungs serve
// both. Runs before the scene is read, which may be large; the number of cascades is checked later, when it is known.
void RunJob::choose_plan() {
  const bool converted = o_.precision && *o_.precision != state_.precision && !state_.plan.empty();
  if (converted) {
    fmt::print(words_, "{}", conversion_text(state_.precision, *o_.precision));
    state_.plan = plan_for_any_precision(std::move(state_.plan), place_.ladder);
  }
  take_precision(o_, state_);
  const bool as_before = !o_.plan && !state_.plan.empty();
  where_ = as_before ? "of the checkpoint (--plan best chooses again)" : o_.plan.value_or("best");
  const std::vector<PlannedCall> calls = run_calls(o_.settings, 1, place_.ladder);
  wanted_ = as_before ? state_.plan : plan_ids(where_, calls, place_.ladder);
  Plan::require(wanted_, where_, calls, place_.ladder);
}

void RunJob::read_scene() {
  if (o_.resume.empty()) {
    scene_name_ = o_.scene.value_or("built-in");
    state_.downscale = o_.downscale.value_or(1);
    state_.holdout = o_.holdout.value_or(8);
    state_.seed = o_.seed.value_or(1);
  }
  const auto say = [&](const std::string& text) {
    fmt::print(words_, "{}\n", text);
    std::fflush(words_);
  };
  scene_ = load_scene_visibly(scene_name_, {.downscale = state_.downscale,
                                            .holdout = state_.holdout,
                                            .seed = state_.seed,
                                            .say = say,
                                            .depth = weighs_depth(o_.settings),
                                            .pictures = SceneOptions::Pictures::on_disk});
  for (const std::string& note : scene_.notes) fmt::print(words_, "note      {}\n", note);
  if (checkpoint_) require_same_scene(state_, scene_, scene_name_);
  state_.views = views_of(scene_);
  if (o_.score) state_.score = *o_.score;
  scope_ = begin_scope(scene_.test, state_.score);  // before pictures are read and memory is planned
  calls_ = run_calls(o_.settings, scene_.cascades, place_.ladder);
  Plan::require(wanted_, where_, calls_, place_.ladder);
  fmt::print(words_, "trainer   {}, {} samples per step\n", o_.settings.field, batch_samples(o_.settings));
  require_alike_ranks();
  plan_memory();
}

MemoryFacts RunJob::memory_facts() const {
  const int64_t read = checkpoint_ ? int64_t(checkpoint_->data_bytes()) : 0;
  MemoryFacts facts{.scene = &scene_,
                    .sizes = place_.sizes,
                    .timed = calls_,
                    .program = resident_memory() - read,
                    .workers = o_.workers,
                    .ahead = o_.ahead,
                    .pictures_here = place_.backend.in_host_memory,
                    .load_room = place_.backend.load_room,
                    .evaluated = o_.evaluate,
                    .resumed = read,
                    .parts = parts(),
                    .own_parts = parts() / ranks_.size()};
  if (o_.settings.field == kFieldOfExtras) return facts;
  facts.trainer = trainer_bytes(o_.settings, scene_, place_);
  facts.model = model_bytes(o_.settings, scene_.cascades);
  facts.trainer_text = fmt::format("{}: parameters, optimizer, batch, at most", o_.settings.field);
  facts.remedy = remedy_of(o_.settings);
  return facts;
}

// Chooses what fits into the budget before any picture is read.
void RunJob::plan_memory() {
  const MemoryFacts facts = memory_facts();
  budget_ = memory_budget(o_.memory, facts.program);
  if (!o_.memory) budget_.bytes /= ranks_.size();  // they share the free memory
  const auto views = int64_t(scene_.train.size());
  const int64_t resident = o_.resident && *o_.resident < views ? *o_.resident : 0;
  if (resident > 0 && !scene_.train.front().source)
    throw std::runtime_error("--resident: the pictures of this scene are made here and stay in memory");
  memory_ = fit_memory(facts, {.config = o_.settings.hash, .resident = resident, .cold = cold_share(budget_)},
                       budget_);
  if (ranks_.size() > 1) take_first_ranks_choice();
  fmt::print(words_, "{}", account_text(memory_.account, budget_));
  if (!memory_.smaller.empty()) fmt::print(words_, "to fit    {}\n", fmt::join(memory_.smaller, ", "));
  std::fflush(words_);
  o_.settings.hash = memory_.choice.config;
  times_.limit_cold_copies(memory_.choice.cold);
  calls_ = run_calls(o_.settings, scene_.cascades, place_.ladder);
  require_room_for_it(facts);
  if (memory_.choice.resident > 0) return require_turns(o_.settings);
  load_pictures_visibly(scene_.train);
  load_pictures_visibly(scene_.test);
}

void RunJob::require_room_for_it(const MemoryFacts& facts) const {
  const std::string remedy = remedy_of(o_.settings);
  if (!facts.pictures_here)
    require_room(place_.backend, trainer_bytes(o_.settings, scene_, place_), "the run", remedy);
  require_memory(memory_.account.total() - facts.program, "the run", remedy);
}

// Opens the pool if not all pictures are kept in memory.
void RunJob::open_pool() {
  if (memory_.choice.resident == 0) return;
  const int64_t steps_done = checkpoint_ ? Trainer::steps_in(*checkpoint_) : 0;
  pool_.emplace(scene_.train,
                PicturePool::Options{.resident = memory_.choice.resident,
                                     .ahead = o_.ahead,
                                     .workers = o_.workers,
                                     // each rank draws its own
                                     .seed = state_.seed + uint64_t(ranks_.rank()),
                                     .cache = cache_},
                steps_done / PictureTurns::kEvery);
}

void RunJob::open_folder() {
  if (!ranks_.first()) return;
  if (!folder_) folder_.emplace(RunFolder::create(o_.out, scene_.name));
  const int64_t model = model_bytes(o_.settings, scene_.cascades);
  folder_->require_writable(5 * model, 4 * model);
  fmt::print(words_, "output    {}\n", folder_->path().string());
  std::fflush(words_);
  state_.scene = scene_name_;
  if (scene_name_ != "built-in") {
    std::error_code error;
    state_.scene = fs::absolute(scene_name_);
    state_.scene_from_run = fs::relative(state_.scene, folder_->path(), error);
  }
  to_metadata(state_);  // fail now rather than at the first checkpoint
}

void RunJob::announce_grid() const {
  const auto cells = double(grid_cells(o_.settings, scene_.cascades));
  if (cells < kLargeGrid) return;
  fmt::print(words_,
             "grid      {:.0f} M cells: that and the first updates, which look at all of them, take a "
             "while before the first step (\"grid\" in the config makes it smaller)\n",
             cells * 1e-6);
  std::fflush(words_);
}

// Times the field as it is now. A field that has not learned yet has no empty space to skip; learned_share() says how
// much less time it will take.
void RunJob::announce_score(const FieldTrainer& trainer, const Plan& plan) {
  if (!o_.evaluate || scene_.test.empty()) return;
  std::array<double, 1> pixel{};
  try {
    if (ranks_.first()) {
      const MemoryOwner owner("scratch");
      const std::unique_ptr<FieldModel> now = trained_model(o_.settings, trainer);
      const PictureMaker pictures(*now, "best", place_of_pictures(), times_, plan_of_pictures(plan),
                                  std::min(kProbePixels, memory_.choice.pixels));
      pixel[0] = seconds_per_pixel(pictures.render(), scene_.test.front().camera);
      if (trainer.steps_done() < kLearnedSteps) pixel[0] *= learned_share(o_.settings, scene_.cascades);
    }
  } catch (const std::bad_alloc&) {
    pixel[0] = 0;  // the time stays unknown, and the limit holds
  }
  ranks_.broadcast(pixel);
  if (ranks_.size() > 1) pixel[0] /= double(std::min<int64_t>(ranks_.size(), int64_t(scope_.views.size())));
  choose_views(scope_, scene_.test, pixel[0]);
  fmt::print(words_, "{}", scope_text(scope_, pixel[0]));
  std::fflush(words_);
}

fs::path model_file(const fs::path& given) {
  return fs::is_directory(given) ? given / "model.safetensors" : given;
}

std::string score_json(const Score& score, const std::vector<std::string>& notes) {
  json views = json::array();
  for (const ViewScore& v : score.views)
    views.push_back({{"name", v.name}, {"psnr", v.psnr}, {"ssim", v.ssim}, {"seconds", v.seconds}});
  json out = {{"psnr", score.psnr},
              {"ssim", score.ssim},
              {"seconds_per_view", score.seconds},
              {"protocol", score.protocol},
              {"test_views", score.scored.of},
              {"reduced_by", score.scored.reduced},
              {"views", views}};
  if (!notes.empty())
    for (const std::string& note : notes) out["notes"].push_back(as_utf8(note));
  return out.dump(2);
}

int train(RunOptions options, CallTimes& times) {
  // Return large freed blocks to the system, so that the account and the process agree.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  return Ranks::here().run([&] { return RunJob(std::move(options), times).run(); });
}

}  // namespace klab
