#include "labs/radiance/run/training_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "harness/records/memory_left.h"
#include "harness/report/terminal.h"
#include "labs/radiance/run/cpu_share.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr int kCeilingSamples = 20;    // over a run
constexpr double kCeilingShare = 0.1;  // of the time of training, at most, while it goes on
constexpr double kLevelsEvery = 10;    // seconds

double waited(FieldTrainer& trainer) {
  const auto at = trainer.profile().seconds().find("waiting for data");
  return at == trainer.profile().seconds().end() ? 0 : at->second;
}

}  // namespace

void TrainingLoop::train(FieldTrainer& trainer) {
  begin_view(trainer);
  fit(trainer);
  if (run_.options.viewer) viewing_took_ = run_.options.viewer->trained();
  save(trainer);
}

void TrainingLoop::begin_view(FieldTrainer& trainer) {
  if (!run_.options.viewer) return;
  run_.options.viewer->begin({.folder = run_.folder->path(),
                              .field = run_.options.settings.field,
                              .scene = &run_.scene,
                              .black = trained_model(run_.options.settings, trainer)->placement().black,
                              .model =
                                  [this, &trainer] {
                                    const MemoryOwner owner("scratch");
                                    return trained_model(run_.options.settings, trainer);
                                  },
                              .pictures =
                                  [this](const FieldModel& model) {
                                    const MemoryOwner owner("scratch");
                                    return run_.picture_maker(model).render();
                                  },
                              .save = [this, &trainer] { save(trainer); }});
  fmt::print(run_.out, "view      {}\n", run_.options.viewer->address());
  std::fflush(run_.out);
}

void TrainingLoop::begin_watch(FieldTrainer& trainer) {
  watch_.begin(trainer);
  std::error_code ignored;
  if (run_.options.retry_not_finite && !fs::exists(run_.folder->file("checkpoint.safetensors"), ignored))
    save(trainer);
  if (run_.ranks.size() == 1) trainer.measure_next_gradient();
  run_.set_rates(trainer);
}

void TrainingLoop::fit(FieldTrainer& trainer) {
  first_step_ = trainer.steps_done();
  std::optional<Metrics> metrics;
  if (run_.ranks.first()) {
    metrics.emplace(run_.folder->file("metrics.csv"), first_step_);
    stage_times_.emplace(run_.folder->file("stages.csv"), first_step_);
  }
  if (run_.ranks.size() == 1 && run_.options.settings.field == "hash")
    levels_file_.emplace(run_.folder->file("levels.csv"), first_step_);
  Progress progress;
  CpuShare cpu;
  run_.clock.start(run_.state.seconds);
  double last_report = run_.clock.elapsed(), last_checkpoint = run_.clock.elapsed(),
         samples_then = run_.state.samples;
  std::optional<double> first_done;  // elapsed share of the run when this process began
  std::optional<StepReport> unwritten;
  int64_t sent = 0;
  const auto write_line = [&](const StepReport& report, double now) {
    MetricsLine line = line_of(trainer, report);
    line.seconds = now;
    line.rate = (run_.state.samples - samples_then) / std::max(now - last_report, 1e-9);
    line.cpu = cpu.share();
    line.sent = sent;
    line.report.gradient_norm = measured_.gradient_norm;
    line.report.clipped_norm = measured_.clipped_norm;
    line.report.decay = measured_.decay;
    line.rate_factor = run_.rate_factor * run_.state.plateau_factor;
    line.unseen = watch_.take_last();
    if (run_.ranks.size() == 1) trainer.measure_next_gradient();
    metrics->line(line);
    if (stage_times_->due(now) || run_.options.metrics_every < 1)
      stage_times_->lines(report.step, now, trainer.profile());
    unwritten.reset();
    return line;
  };
  begin_watch(trainer);
  const bool of_processor = run_.place.backend.in_host_memory;  // ceilings are measured on the processor
  for (Decision d = decide(trainer.steps_done(), last_checkpoint); d.end == 0;
       d = decide(trainer.steps_done(), last_checkpoint)) {
    if (d.save != 0) {
      relief_.shortage().through(trainer, [&] { save(trainer); });
      last_checkpoint = run_.clock.elapsed();
    }
    if (!first_done) first_done = d.done;
    if (run_.memory.choice.ceilings && of_processor && run_.ranks.size() == 1 &&
        ceilings_took_ <= kCeilingShare * run_.clock.trained_here() &&
        (d.done - *first_done) / (1 - *first_done) * kCeilingSamples > ceilings_.samples() + 0.5)
      sample_ceilings(trainer);
    if (run_.options.viewer) run_.clock.leave_out(run_.options.viewer->between_steps(trainer));
    const auto step_began = RunClock::Clock::now();
    const int64_t sent_before = run_.ranks.bytes_sent();
    if (run_.options.before_step) run_.options.before_step(trainer);
    StepReport report;
    try {
      // Owns arrays that a step makes, as for a grid that grows.
      const MemoryOwner owner(run_.options.settings.field == "hash" ? "batch" : "trainer");
      report = run_.ranks.size() > 1
                   ? trainer.step(d.done)
                   : relief_.shortage().through(trainer, [&] { return trainer.step(d.done); });
    } catch (const NotFinite& error) {
      retries_.retry(trainer, error);
      metrics.emplace(run_.folder->file("metrics.csv"), trainer.steps_done());
      stage_times_.emplace(run_.folder->file("stages.csv"), trainer.steps_done());
      unwritten.reset();
      continue;
    }
    retries_.count_finite_step(trainer);
    if (std::isfinite(report.gradient_norm)) measured_ = report;
    step_took(RunClock::since(step_began));
    sent = run_.ranks.bytes_sent() - sent_before;
    sent_ += sent;
    run_.state.samples += double(report.samples);
    const double after = run_.clock.elapsed();
    unwritten = report;
    watch_.validate(trainer);
    if (!metrics || (after - last_report < run_.options.metrics_every && report.step != 1)) continue;
    show(write_line(report, after), last_report, progress);
    relief_.relieve(trainer);
    if (after - last_levels_ >= kLevelsEvery) record_levels(trainer);
    last_report = after;
    samples_then = run_.state.samples;
  }
  stop_heeded();
  if (metrics && unwritten)
    write_line(*unwritten, run_.clock.elapsed());  // so that the curve includes the last step
  if (trainer.steps_done() > first_step_) record_levels(trainer);
  const bool trained = trainer.steps_done() > first_step_ && run_.memory.choice.ceilings && of_processor &&
                       run_.ranks.size() == 1;
  for (int last = 1; trained && (last > 0 || ceilings_.samples() < 5); --last) sample_ceilings(trainer);
  run_.clock.stop();
  progress.clear();
}

// Uses the clock and the signals of the first rank for all ranks.
TrainingLoop::Decision TrainingLoop::decide(int64_t steps_done, double last_checkpoint) {
  const double now = run_.clock.elapsed();
  Decision d;
  d.done =
      run_.options.steps ? double(steps_done) / double(*run_.options.steps) : now / *run_.options.seconds;
  d.end = stop_requested || !watch_.ended_early().empty() ||
          (run_.options.steps && steps_done >= *run_.options.steps) ||
          (run_.options.seconds && now >= *run_.options.seconds);
  d.save = now - last_checkpoint >= run_.options.checkpoint_every;
  std::array<double, 3> numbers = {d.done, d.end, d.save};
  run_.ranks.broadcast(numbers);
  return {numbers[0], numbers[1], numbers[2]};
}

// Fills all fields that do not depend on the line before.
MetricsLine TrainingLoop::line_of(FieldTrainer& trainer, const StepReport& report) const {
  MetricsLine line{
      .report = report,
      .occupied = trainer.occupied_share(),
      .memory = resident_memory(),
      .memory_peak = peak_memory(),
      .waited = waited(trainer),
      .learning_rate = trainer.learning_rate(),
      .device_free = run_.place.backend.available && !run_.place.backend.in_host_memory
                         ? run_.place.backend.available()
                         : 0,
      .batch = trainer.batch_samples() > 0 ? trainer.batch_samples() : batch_samples(run_.options.settings)};
  if (run_.options.backend == "cuda") line.device = gpu_use();
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

void TrainingLoop::show(const MetricsLine& line, double last_report, Progress& progress) const {
  const StepReport& r = line.report;
  const double remains = run_.options.steps ? double(*run_.options.steps - r.step) *
                                                  run_.clock.trained_here() / double(r.step - first_step_)
                                            : *run_.options.seconds - line.seconds;
  const std::string text =
      fmt::format("step {:6}  {}  loss {:.5f}  batch PSNR {:5.2f} dB  {:.2f} M samples/s  {} rays  left {}",
                  r.step, duration_text(line.seconds), r.loss, line.psnr, line.rate * 1e-6, r.rays,
                  duration_text(std::max(0.0, remains)));
  if (terminal_ && overwrites_lines(fileno(stderr)))
    progress.show(text);
  else if (int(line.seconds / 10) != int(last_report / 10) || r.step == 1)
    fmt::print(stderr, "{}\n", text);
}

// A short run has short samples, so that its ceilings do not take longer than its training.
void TrainingLoop::sample_ceilings(FieldTrainer& trainer) {
  const auto start = RunClock::Clock::now();
  ceilings_.sample(trainer.profile(), std::clamp(run_.clock.trained_here() / 100, 0.002, 0.01));
  const double took = RunClock::since(start);
  ceilings_took_ += took;
  run_.clock.leave_out(took);
}

// Its time is not training time. Reports nothing if memory is short or the next batch is not finite.
void TrainingLoop::record_levels(FieldTrainer& trainer) {
  if (!levels_file_) return;
  const auto start = RunClock::Clock::now();
  try {
    levels_ = trainer.level_uses();
    levels_file_->lines(trainer.steps_done(), levels_);
  } catch (const std::bad_alloc&) {
    levels_.clear();
  }
  run_.clock.leave_out(RunClock::since(start));
  last_levels_ = run_.clock.elapsed();
}

void TrainingLoop::save(FieldTrainer& trainer) const {
  ranks_.require_same_parameters(trainer);
  if (run_.ranks.size() > 1) trainer.collect_state();
  if (!run_.ranks.first()) return;
  RunState now = run_.state;
  now.seconds = run_.clock.seconds() > 0 ? run_.clock.seconds() : run_.clock.elapsed();
  now.budget_seconds = run_.options.seconds.value_or(0);
  now.budget_steps = run_.options.steps.value_or(0);
  trainer.save(run_.folder->file("checkpoint.safetensors"), to_metadata(now));
}

double TrainingLoop::sent_per_step(const FieldTrainer& trainer) const {
  return double(sent_) / double(std::max<int64_t>(1, trainer.steps_done() - first_step_));
}

}  // namespace klab
