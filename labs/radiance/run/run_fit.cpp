// Training of a run, and its results.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/report/terminal.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/counted_step.h"
#include "labs/radiance/run/cpu_share.h"
#include "labs/radiance/run/evaluation.h"
#include "labs/radiance/run/run_job.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kCeilingSamples = 20;    // over a run
constexpr double kCeilingShare = 0.1;  // of the time of training, at most, while it goes on
constexpr double kLevelsEvery = 10;    // seconds

double waited(FieldTrainer& trainer) {
  const auto at = trainer.profile().seconds().find("waiting for data");
  return at == trainer.profile().seconds().end() ? 0 : at->second;
}

}  // namespace

// Uses the clock and the signals of the first rank for all ranks.
RunJob::Decision RunJob::decide(int64_t steps_done, double last_checkpoint) {
  const double now = elapsed();
  Decision d;
  d.done = o_.steps ? double(steps_done) / double(*o_.steps) : now / *o_.seconds;
  d.end = stop_requested || !ended_early_.empty() || (o_.steps && steps_done >= *o_.steps) ||
          (o_.seconds && now >= *o_.seconds);
  d.save = now - last_checkpoint >= o_.checkpoint_every;
  std::array<double, 3> numbers = {d.done, d.end, d.save};
  ranks_.broadcast(numbers);
  return {numbers[0], numbers[1], numbers[2]};
}

void RunJob::fit(FieldTrainer& trainer) {
  first_step_ = trainer.steps_done();
  std::optional<Metrics> metrics;
  if (ranks_.first()) {
    metrics.emplace(folder_->file("metrics.csv"), first_step_);
    stage_times_.emplace(folder_->file("stages.csv"), first_step_);
  }
  if (ranks_.size() == 1 && o_.settings.field == "hash")
    levels_file_.emplace(folder_->file("levels.csv"), first_step_);
  Progress progress;
  CpuShare cpu;
  state_before_ = state_.seconds;
  begin_ = Clock::now();
  double last_report = elapsed(), last_checkpoint = elapsed(), samples_then = state_.samples;
  std::optional<double> first_done;  // elapsed share of the run when this process began
  std::optional<StepReport> unwritten;
  int64_t sent = 0;
  const auto write_line = [&](const StepReport& report, double now) {
    MetricsLine line = line_of(trainer, report);
    line.seconds = now;
    line.rate = (state_.samples - samples_then) / std::max(now - last_report, 1e-9);
    line.cpu = cpu.share();
    line.sent = sent;
    line.report.gradient_norm = measured_.gradient_norm;
    line.report.clipped_norm = measured_.clipped_norm;
    line.rate_factor = rate_factor_ * state_.plateau_factor;
    line.unseen = validation_ ? validation_->take_last() : std::nullopt;
    if (ranks_.size() == 1) trainer.measure_next_gradient();
    metrics->line(line);
    if (stage_times_->due(now) || o_.metrics_every < 1)
      stage_times_->lines(report.step, now, trainer.profile());
    unwritten.reset();
    return line;
  };
  begin_watch(trainer);
  const bool of_processor = place_.backend.in_host_memory;  // ceilings are measured on the processor
  for (Decision d = decide(trainer.steps_done(), last_checkpoint); d.end == 0;
       d = decide(trainer.steps_done(), last_checkpoint)) {
    if (d.save != 0) {
      shortage_.through(trainer, [&] { save(trainer); });
      last_checkpoint = elapsed();
    }
    if (!first_done) first_done = d.done;
    if (memory_.choice.ceilings && of_processor && ranks_.size() == 1 &&
        ceilings_took_ <= kCeilingShare * trained_here() &&
        (d.done - *first_done) / (1 - *first_done) * kCeilingSamples > ceilings_.samples() + 0.5)
      sample_ceilings(trainer);
    if (o_.viewer) aside_ += o_.viewer->between_steps(trainer);
    const auto step_began = Clock::now();
    const int64_t sent_before = ranks_.bytes_sent();
    if (o_.before_step) o_.before_step(trainer);
    StepReport report;
    try {
      report = ranks_.size() > 1 ? trainer.step(d.done)
                                 : shortage_.through(trainer, [&] { return trainer.step(d.done); });
    } catch (const NotFinite& error) {
      retry(trainer, error);
      metrics.emplace(folder_->file("metrics.csv"), trainer.steps_done());
      stage_times_.emplace(folder_->file("stages.csv"), trainer.steps_done());
      unwritten.reset();
      continue;
    }
    count_finite_step(trainer);
    if (std::isfinite(report.gradient_norm)) measured_ = report;
    step_took(since(step_began));
    sent = ranks_.bytes_sent() - sent_before;
    sent_ += sent;
    state_.samples += double(report.samples);
    const double after = elapsed();
    unwritten = report;
    validate(trainer);
    if (!metrics || (after - last_report < o_.metrics_every && report.step != 1)) continue;
    show(write_line(report, after), last_report, progress);
    relieve(trainer);
    if (after - last_levels_ >= kLevelsEvery) record_levels(trainer);
    last_report = after;
    samples_then = state_.samples;
  }
  stop_heeded();
  if (metrics && unwritten) write_line(*unwritten, elapsed());  // so that the curve includes the last step
  if (trainer.steps_done() > first_step_) record_levels(trainer);
  const bool trained =
      trainer.steps_done() > first_step_ && memory_.choice.ceilings && of_processor && ranks_.size() == 1;
  for (int last = 1; trained && (last > 0 || ceilings_.samples() < 5); --last) sample_ceilings(trainer);
  seconds_ = elapsed();
  progress.clear();
}

// Fills all fields that do not depend on the line before.
MetricsLine RunJob::line_of(FieldTrainer& trainer, const StepReport& report) const {
  MetricsLine line{
      .report = report,
      .occupied = trainer.occupied_share(),
      .memory = resident_memory(),
      .memory_peak = peak_memory(),
      .waited = waited(trainer),
      .learning_rate = trainer.learning_rate(),
      .device_free =
          place_.backend.available && !place_.backend.in_host_memory ? place_.backend.available() : 0,
      .batch = trainer.batch_samples() > 0 ? trainer.batch_samples() : batch_samples(o_.settings)};
  if (o_.backend == "cuda") line.device = gpu_use();
  if (const LossScale* scale = trainer.loss_scale()) {
    line.loss_scale = scale->value();
    line.skipped = scale->state().skipped;
  }
  try {  // these allocate memory
    line.psnr = trainer.batch_psnr();
    line.report.loss = trainer.batch_loss(report.loss);
  } catch (const std::bad_alloc&) {
    line.psnr = std::numeric_limits<double>::quiet_NaN();
  }
  return line;
}

// All ranks make the same step, so their parameters must be equal bit by bit. Finds differences before they
// are saved.
void RunJob::require_same_parameters(const FieldTrainer& trainer) {
  if (ranks_.size() == 1) return;
  double sum = 0;
  for (const std::span<const float> parameters : trainer.parameters())
    for (const float v : parameters) sum += double(v);
  require_alike(ranks_,
                {{"sum of parameters, so they no longer make the same steps", fmt::format("{:.17g}", sum)}});
}

void RunJob::show(const MetricsLine& line, double last_report, Progress& progress) const {
  const StepReport& r = line.report;
  const double remains =
      o_.steps ? double(*o_.steps - r.step) * (since(begin_) - aside_) / double(r.step - first_step_)
               : *o_.seconds - line.seconds;
  const std::string text =
      fmt::format("step {:6}  {}  loss {:.5f}  batch PSNR {:5.2f} dB  {:.2f} M samples/s  {} rays  left {}",
                  r.step, duration_text(line.seconds), r.loss, line.psnr, line.rate * 1e-6, r.rays,
                  duration_text(std::max(0.0, remains)));
  if (terminal_ && overwrites_lines(fileno(stderr)))
    progress.show(text);
  else if (int(line.seconds / 10) != int(last_report / 10) || r.step == 1)
    fmt::print(stderr, "{}\n", text);
}

// Takes less memory if it is short. The batch of other fields has a fixed size, and several processes would
// have to agree.
void RunJob::relieve(FieldTrainer& trainer) {
  if (ranks_.size() > 1) return;
  const Relief relief = pressure_.measure();
  const int64_t batch = trainer.batch_samples(), planned = batch_samples(o_.settings);
  const auto say = [&](const std::string& what) {
    fmt::print(stderr, "note      memory: {}; {}\n", pressure_.text(), what);
  };
  if (relief == Relief::drop_caches) {
    memory_.choice.ceilings = false;  // and the arrays that they copy
    if (pool_) pool_->forget_cached_pages();
    malloc_trim(0);
    say("caches are dropped");
  } else if (relief == Relief::shrink && batch / 2 >= kLeastBatch) {
    say(fmt::format("going on with a batch of {} samples instead of {}", batch / 2, batch));
    resize(trainer, batch / 2);
    ++batches_shrunk_;
  } else if (relief == Relief::grow && batch > 0 && 2 * batch <= planned) {
    say(fmt::format("going on with a batch of {} samples instead of {}", 2 * batch, batch));
    resize(trainer, 2 * batch);
    ++batches_grown_;
  }
}

void RunJob::resize(FieldTrainer& trainer, int64_t samples) {
  bool tried = false;
  shortage_.through(trainer, [&] {  // if that fails, the batch shrinks further
    if (std::exchange(tried, true)) return;
    trainer.resize_batch(samples);
  });
}

// Its time is not training time. Reports nothing if memory is short or the next batch is not finite.
void RunJob::record_levels(FieldTrainer& trainer) {
  if (!levels_file_) return;
  const auto start = Clock::now();
  try {
    levels_ = trainer.level_uses();
    levels_file_->lines(trainer.steps_done(), levels_);
  } catch (const std::bad_alloc&) {
    levels_.clear();
  }
  aside_ += since(start);
  last_levels_ = elapsed();
}

// A short run has short samples, so that its ceilings do not take longer than its training.
void RunJob::sample_ceilings(FieldTrainer& trainer) {
  const auto start = Clock::now();
  ceilings_.sample(trainer.profile(), std::clamp(trained_here() / 100, 0.002, 0.01));
  const double took = since(start);
  ceilings_took_ += took;
  aside_ += took;
}

void RunJob::save(FieldTrainer& trainer) {
  require_same_parameters(trainer);
  if (ranks_.size() > 1) trainer.collect_state();
  if (!ranks_.first()) return;
  RunState now = state_;
  now.seconds = seconds_ > 0 ? seconds_ : elapsed();
  now.budget_seconds = o_.seconds.value_or(0);
  now.budget_steps = o_.steps.value_or(0);
  trainer.save(folder_->file("checkpoint.safetensors"), to_metadata(now));
}

// If the backend or a picture of the pool fails, adds the checkpoint to resume from to the message.
void RunJob::or_say_what_is_left(const FieldTrainer& trainer, const std::function<void()>& work) const {
  try {
    work();
  } catch (const NotFinite& e) {
    throw NotFinite(fmt::format("{}; {}", e.what(), remedy_of_not_finite()));
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::runtime_error& e) {
    if (o_.backend == "cpu" && !pool_) throw;
    throw std::runtime_error(
        fmt::format("--backend {}, step {}: {}; {}", o_.backend, trainer.steps_done(), e.what(), left()));
  }
}

// Names the checkpoint to resume from.
std::string RunJob::left() const {
  if (!folder_) return "nothing was written";
  const fs::path checkpoint = folder_->file("checkpoint.safetensors");
  std::error_code error;
  if (!fs::exists(checkpoint, error)) return "there is no checkpoint yet";
  return fmt::format("the last checkpoint is {}: klab train --resume {} goes on from it, on any backend",
                     checkpoint.string(), folder_->path().string());
}

// Returns the mean number of bytes that a rank sends to others in a step.
double RunJob::sent_per_step(const FieldTrainer& trainer) const {
  return double(sent_) / double(std::max<int64_t>(1, trainer.steps_done() - first_step_));
}

void RunJob::report(FieldTrainer& trainer, const FieldModel& model) {
  const Shares shares = ceilings_.shares(trainer.profile());
  if (!ceilings_.left_out().empty())
    fmt::print(words_, "note      ceilings that would take more than {}: not measured: {}\n",
               bytes_text(StageCeilings::kMostBytes), fmt::join(ceilings_.left_out(), ", "));
  const double rate = state_.samples / std::max(seconds_, 1e-9);
  result_ = {
      {"scene", as_utf8(scene_.name)},
      {"format", scene_.format},
      {"field", o_.settings.field},
      {"bytes", model.bytes()},
      {"steps", trainer.steps_done()},
      {"seconds_training", seconds_},
      {"samples", state_.samples},
      {"samples_per_second", rate},
      {"seed", state_.seed},
      {"backend", o_.backend},
      {"host_waits_per_step", double(trainer.host_counts().waits) /
                                  double(std::max<int64_t>(1, trainer.steps_done() - first_step_))},
      {"ranks", ranks_.size()},
      {"exchange", ranks_.size() > 1 ? o_.exchange : "none"},
      {"bytes_sent_per_step", sent_per_step(trainer)},
      {"touched_share", touched().share()},
      {"touched_by_any_share", touched().by_any_share()},
      {"interrupted", bool(stop_requested)},
      {"allocations_failed", shortage_.failures()},
      {"batches_shrunk", batches_shrunk_},
      {"batches_grown", batches_grown_},
      {"batch_samples", trainer.batch_samples() > 0 ? trainer.batch_samples() : batch_samples(o_.settings)},
      {"stages", stages_json(trainer.profile(), shares)},
      {"config", json::parse(to_json_text(o_.settings))},
      {"precision", state_.precision},
      {"plan", state_.plan}};
  if (!ended_early_.empty()) {
    result_["ended_early"] = ended_early_;
    fmt::print(words_, "\nended     early: {}\n", ended_early_);
  }
  if (validation_) result_["validation"] = validation_->to_json();
  if (o_.viewer) result_["seconds_viewing"] = viewing_took_;
  if (!result_tries_.empty()) result_["retries"] = result_tries_;
  if (const LossScale* scale = trainer.loss_scale()) {
    result_["loss_scale"] = scale->value();
    result_["skipped_steps"] = scale->state().skipped;
    result_["gradients_to_zero"] = trainer.lost().share();
    fmt::print(
        words_,
        "\nloss scale {:.0f} at the end; {} of {} steps left out; {:.2f} % of the gradients became 0\n",
        scale->value(), scale->state().skipped, trainer.steps_done(), 100 * trainer.lost().share());
  }
  fmt::print(words_,
             "\ntrained   {} steps in {:.1f} s ({:.3f} M samples per second through the whole step)\n",
             trainer.steps_done(), seconds_, rate * 1e-6);
  if (ranks_.size() > 1)
    fmt::print(words_, "exchange  {}: a rank sends {:.3f} MB a step\n", o_.exchange,
               sent_per_step(trainer) * 1e-6);
  if (!o_.json && seconds_ > state_before_ && !counts_a_step())
    print_stages(trainer.profile(), shares, trainer.steps_done() - first_step_);
  if (!levels_.empty()) {
    result_["levels"] = levels_json(levels_);
    if (!o_.json) print_levels(levels_);
  }
  if (const std::string news = trainer.table_news(); !news.empty()) {
    result_["table"] = news;
    fmt::print(words_, "table     {}\n", news);
  }
  std::fflush(words_);
}

// Returns whether the step is small enough and all its pictures are in memory.
bool RunJob::counts_a_step() const {
  return o_.backend == "simt" && ranks_.first() && ranks_.size() == 1 && !pool_ && !stop_requested &&
         batch_samples(o_.settings) <= kMostCounted;
}

void RunJob::count_a_step(const Plan& plan) {
  const StepCounts counts =
      count_step(o_.settings, scene_, plan, state_.seed, place_, folder_->file("checkpoint.safetensors"));
  result_["counted_step"] = counts_json(counts);
  if (!o_.json) print_counts(words_, counts);
  std::fflush(words_);
}

// The host executor needs seconds for a picture; klab eval --backend simt shows them.
BackendChoice RunJob::place_of_pictures() const {
  return o_.backend == "simt" ? backend_named("cpu") : place_;
}

std::optional<Plan> RunJob::plan_of_pictures(const Plan& plan) const {
  return o_.backend == "cpu" ? std::optional<Plan>(plan) : std::nullopt;
}

// Two views that it was trained on, small: how far it is from what it has seen. Left out where memory is short.
void RunJob::show_training_views(const FieldModel& model, const Plan& plan) {
  constexpr int kSide = 400;  // pixels of the longer side, at most
  if (pool_ || !ranks_.first()) return;
  try {
    const MemoryOwner owner("scratch");
    const PictureMaker pictures(model, "last", place_of_pictures(), times_, plan_of_pictures(plan),
                                memory_.choice.pixels);
    const size_t views = scene_.train.size();
    for (const size_t i : {size_t{0}, views / 2}) {
      const Camera& camera = scene_.train[i].camera;
      const View view = reduced_view(
          scene_.train[i], std::max(1, (std::max(camera.width, camera.height) + kSide - 1) / kSide));
      save_comparison(folder_->file(fmt::format("train_{}.png", i)), view, pictures.render()(view.camera),
                      model.placement().black);
    }
  } catch (const std::bad_alloc&) {
    fmt::print(words_, "note      no memory for pictures of training views\n");
  }
}

void RunJob::evaluate_on_tests(FieldModel& model, const Plan& plan) {
  if (!o_.evaluate) {
    fmt::print(words_, "not evaluated (--no-eval)\n");
    return;
  }
  if (scene_.test.empty()) {
    fmt::print(words_, "no test views: nothing to measure the model against\n");
    return;
  }
  const auto evaluation = Clock::now();
  const std::optional<Plan> given = plan_of_pictures(plan);
  // Ranks share the views if each gets at least one and all use one plan.
  const bool shared = ranks_.size() > 1 && given && int64_t(scope_.views.size()) >= ranks_.size();
  if (!shared && !ranks_.first()) return;
  const ScoreScope mine = shared ? part_of(scope_, ranks_.rank(), ranks_.size()) : scope_;
  Evaluation e = evaluate_run(model, place_of_pictures(), given, times_, scene_.test, memory_.choice.pixels,
                              cache_, mine, scope_.views);
  if (shared) e = merge_scores(e, ranks_, scope_, model.placement().black);
  if (!ranks_.first()) return;
  if (!e.score) {
    result_["interrupted"] = e.why.empty();
    fmt::print(words_, "{}; klab eval {} takes the score\n",
               e.why.empty() ? "interrupted during the evaluation: no score" : e.why,
               folder_->path().string());
    return;
  }
  sheet_ = std::move(e.sheet);
  score_ = std::move(e.score);
  const Score& score = *score_;
  result_["score"] = json::parse(score_json(score));
  result_["seconds_evaluation"] = since(evaluation);
  fmt::print(words_, "\nPSNR      {:.2f} dB   SSIM {:.4f}   {:.2f} s a view\nprotocol  {}\n", score.psnr,
             score.ssim, score.seconds, score.protocol);
  fmt::print(words_,
             "time      {:.1f} s of training from the first step, {:.1f} s of evaluation not counted\n",
             seconds_, since(evaluation));
  show_training_views(model, plan);
}

}  // namespace klab
