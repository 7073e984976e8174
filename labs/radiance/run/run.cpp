#include "labs/radiance/run/run.h"

#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/gpu/gpu.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/report/table.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/precision.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/state.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/train/backends.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double kReportEvery = 1;      // seconds, on a terminal; a tenth as often elsewhere
constexpr int kCeilingSamples = 20;     // over a run
constexpr double kLargeGrid = 1 << 24;  // cells, from which on looking at all of them takes seconds

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Peak resident memory of this process, bytes.
int64_t peak_memory() {
  std::ifstream in("/proc/self/status");
  for (std::string key; in >> key;) {
    int64_t kilobytes = 0;
    if (key == "VmHWM:" && in >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

/// Asked for by a signal during the evaluation.
struct EvaluationStopped {};

/// One run, from the options to the files.
class Run {
 public:
  Run(RunOptions options, CallTimes& times)
      : o_(std::move(options)),
        times_(times),
        words_(o_.json ? stderr : stdout),
        place_(backend_named(o_.backend)),
        on_a_gpu_(o_.backend == "cuda") {}

  int go() {
    require_unused(o_.out);
    if (!o_.resume.empty()) take_over();
    require_backend(o_.settings, o_.backend);
    if (!o_.seconds && !o_.steps) o_.seconds = 60;
    choose_plan();
    read_scene();
    open_folder();
    // From here on an interruption is an orderly end, while rungs are timed too.
    const StopSignals signals;
    const Plan plan =
        Plan::fixed(wanted_, where_, calls_, times_, place_.ladder, unit_of_precision(state_.precision));
    fmt::print(words_, "{}", plan.text());
    fmt::print(words_, "{}", precision_text(plan, calls_, state_.precision, place_.ladder));
    state_.plan = plan.ids();
    write_file(folder_->file("plan.json"), to_json_text(plan));
    announce_grid();
    const auto made = make_trainer(o_.settings, scene_, plan, state_.seed, place_);
    FieldTrainer& trainer = *made;
    if (checkpoint_) {
      trainer.restore(*checkpoint_);
      checkpoint_.reset();
      fmt::print(words_, "resumed   at step {}, {}\n", trainer.steps_done(), duration_text(state_.seconds));
    }
    std::fflush(words_);
    fit(trainer);
    save(trainer);
    const auto model = trained_model(o_.settings, trainer);
    model->save(folder_->file("model.safetensors"));
    report(trainer, *model);
    evaluate_on_tests(*model, plan);
    result_["peak_memory"] = peak_memory();
    fmt::print(words_, "memory    {:.2f} GB at most\nwritten   {}\n", double(peak_memory()) * 1e-9,
               folder_->file("model.safetensors").string());
    write_file(folder_->file("result.json"), result_.dump(2) + "\n");
    if (o_.json) fmt::print("{}\n", result_.dump(2));
    return stop_requested ? 130 : 0;
  }

 private:
  /// What the checkpoint says; what the command line gives anew (budget, plan) stays.
  void take_over() {
    folder_.emplace(RunFolder::reopen(o_.resume));
    checkpoint_.emplace(folder_->file("checkpoint.safetensors"));
    const std::string field = field_of(*checkpoint_);
    if (o_.field && *o_.field != field)
      throw std::runtime_error(
          fmt::format("--resume {}: --field {} contradicts that run, which has the field {}; leave it out, "
                      "or begin a new run",
                      o_.resume.string(), *o_.field, field));
    o_.settings = field_settings(field, checkpoint_->metadata("config"), "the checkpoint's config");
    state_ = run_state_in(*checkpoint_);
    if (state_.ladder != place_.ladder) state_.plan.clear();  // its rungs are of no use here: chosen anew
    state_.ladder = place_.ladder;
    scene_name_ = resumed_scene(o_, state_);
    if (o_.seconds || o_.steps) return;
    if (state_.budget_seconds > 0) o_.seconds = state_.budget_seconds;
    if (state_.budget_steps > 0) o_.steps = state_.budget_steps;
  }

  /// As the resumed run had it, unless another plan is asked for. Before the scene is read, which may be large; how many
  /// cascades it has is known later, and asked again then.
  void choose_plan() {
    const bool converted = o_.precision && *o_.precision != state_.precision && !state_.plan.empty();
    if (converted) fmt::print(words_, "{}", conversion_text(state_.precision, *o_.precision));
    state_.precision = o_.precision.value_or(state_.precision);
    const bool as_before = !o_.plan && !state_.plan.empty() && !converted;
    where_ = as_before ? "of the checkpoint (--plan best chooses anew)" : o_.plan.value_or("best");
    const std::vector<PlannedCall> calls = run_calls(o_.settings, 1, place_.ladder);
    wanted_ = as_before ? state_.plan : plan_ids(where_, calls, place_.ladder);
    Plan::require(wanted_, where_, calls, place_.ladder);
  }

  void read_scene() {
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
    scene_ = load_scene_visibly(
        scene_name_,
        {.downscale = state_.downscale, .holdout = state_.holdout, .seed = state_.seed, .say = say});
    for (const std::string& note : scene_.notes) fmt::print(words_, "note      {}\n", note);
    if (checkpoint_) require_same_scene(state_, scene_, scene_name_);
    state_.views = views_of(scene_);
    calls_ = run_calls(o_.settings, scene_.cascades, place_.ladder);
    Plan::require(wanted_, where_, calls_, place_.ladder);
    const int64_t bytes = trainer_bytes(o_.settings, scene_, place_);
    fmt::print(words_, "trainer   {}, {:.0f} MB: model, optimizer, {} samples per step\n", o_.settings.field,
               double(bytes) * 1e-6, batch_samples(o_.settings));
    const std::string remedy = remedy_of(o_.settings);
    require_room(place_.backend, bytes, "the run", remedy);
    require_memory(bytes, "the run", remedy);
  }

  void open_folder() {
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
    to_metadata(state_);  // would throw now what it throws at the first checkpoint
  }

  void announce_grid() const {
    const auto cells = double(grid_cells(o_.settings, scene_.cascades));
    if (cells < kLargeGrid) return;
    fmt::print(words_,
               "grid      {:.0f} M cells: that and the first updates, which look at all of them, take a "
               "while before the first step (\"grid\" in the config makes it smaller)\n",
               cells * 1e-6);
    std::fflush(words_);
  }

  double elapsed() const { return state_before_ + since(begin_) - aside_; }

  void sample_ceilings(FieldTrainer& trainer) {
    const auto start = Clock::now();
    ceilings_.sample(trainer.profile());
    aside_ += since(start);
  }

  void save(FieldTrainer& trainer) {
    RunState now = state_;
    now.seconds = seconds_ > 0 ? seconds_ : elapsed();
    now.budget_seconds = o_.seconds.value_or(0);
    now.budget_steps = o_.steps.value_or(0);
    trainer.save(folder_->file("checkpoint.safetensors"), to_metadata(now));
  }

  void fit(FieldTrainer& trainer) {
    first_step_ = trainer.steps_done();
    Metrics metrics(folder_->file("metrics.csv"), first_step_);
    Progress progress;
    state_before_ = state_.seconds;
    begin_ = Clock::now();
    double last_report = elapsed(), last_checkpoint = elapsed(), samples_then = state_.samples;
    std::optional<double> first_done;  // share of the run that was done when this process began
    while (!stop_requested) {
      const double now = elapsed();
      if (o_.steps && trainer.steps_done() >= *o_.steps) break;
      if (o_.seconds && now >= *o_.seconds) break;
      const double done = o_.steps ? double(trainer.steps_done()) / double(*o_.steps) : now / *o_.seconds;
      if (!first_done) first_done = done;
      if ((done - *first_done) / (1 - *first_done) * kCeilingSamples > ceilings_.samples() + 0.5)
        sample_ceilings(trainer);
      const auto step_began = Clock::now();
      StepReport report = step(trainer, done);
      step_took(since(step_began));
      state_.samples += double(report.samples);
      const double after = elapsed();
      if (after - last_report >= kReportEvery || report.step == 1) {
        const double rate = (state_.samples - samples_then) / std::max(after - last_report, 1e-9);
        const double psnr = trainer.batch_psnr();
        report.loss = trainer.batch_loss(report.loss);
        metrics.line(report, psnr, after, rate, trainer.occupied_share());
        show(report, psnr, rate, after, last_report, progress);
        last_report = after;
        samples_then = state_.samples;
      }
      if (after - last_checkpoint >= o_.checkpoint_every) {
        save(trainer);
        last_checkpoint = elapsed();
      }
    }
    stop_heeded();
    const bool trained = trainer.steps_done() > first_step_;
    for (int last = 1; trained && (last > 0 || ceilings_.samples() < 5); --last) sample_ceilings(trainer);
    seconds_ = elapsed();
    progress.clear();
  }

  /// A step; where the backend fails in it, the message says what can be gone on with.
  StepReport step(FieldTrainer& trainer, double done) const {
    try {
      return trainer.step(done);
    } catch (const NotFinite&) {
      throw;
    } catch (const std::runtime_error& e) {
      if (o_.backend == "cpu") throw;
      const fs::path checkpoint = folder_->file("checkpoint.safetensors");
      std::error_code error;
      const std::string left =
          fs::exists(checkpoint, error)
              ? fmt::format(
                    "the last checkpoint is {}: klab train --resume {} goes on from it, on any backend",
                    checkpoint.string(), folder_->path().string())
              : "there is no checkpoint yet";
      throw std::runtime_error(
          fmt::format("--backend {}, step {}: {}; {}", o_.backend, trainer.steps_done(), e.what(), left));
    }
  }

  void show(const StepReport& r, double psnr, double rate, double after, double last_report,
            Progress& progress) const {
    const double left =
        o_.steps ? double(*o_.steps - r.step) * (since(begin_) - aside_) / double(r.step - first_step_)
                 : *o_.seconds - after;
    const std::string line = fmt::format(
        "step {:6}  {}  loss {:.5f}  batch PSNR {:5.2f} dB  {:.2f} M samples/s  {} rays  left {}", r.step,
        duration_text(after), r.loss, psnr, rate * 1e-6, r.rays, duration_text(std::max(0.0, left)));
    if (terminal_)
      progress.show(line);
    else if (int(after / 10) != int(last_report / 10) || r.step == 1)
      fmt::print(stderr, "{}\n", line);
  }

  void report(FieldTrainer& trainer, const FieldModel& model) {
    const Shares shares = ceilings_.shares(trainer.profile());
    const double rate = state_.samples / std::max(seconds_, 1e-9);
    result_ = {{"scene", as_utf8(scene_.name)},
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
               {"interrupted", bool(stop_requested)},
               {"stages", stages_json(trainer.profile(), shares)},
               {"config", json::parse(to_json_text(o_.settings))},
               {"precision", state_.precision},
               {"plan", state_.plan}};
    fmt::print(words_,
               "\ntrained   {} steps in {:.1f} s ({:.3f} M samples per second through the whole step)\n",
               trainer.steps_done(), seconds_, rate * 1e-6);
    if (!o_.json && seconds_ > state_before_)
      print_stages(trainer.profile(), shares, trainer.steps_done() - first_step_);
    std::fflush(words_);
  }

  void evaluate_on_tests(const FieldModel& model, const Plan& plan) {
    if (!o_.evaluate) {
      fmt::print(words_, "not evaluated (--no-eval)\n");
      return;
    }
    if (scene_.test.empty()) {
      fmt::print(words_, "no test views: nothing to measure the model against\n");
      return;
    }
    const auto evaluation = Clock::now();
    const bool asked_before = stop_requested;
    int index = 0;
    const auto each = [&](const View& view, const Picture& picture, const ViewScore&) {
      if (stop_requested && !asked_before) throw EvaluationStopped();
      if (index < 8)
        save_comparison(folder_->file(fmt::format("test_{}.png", index)), view, picture,
                        model.placement().black);
      ++index;
    };
    try {
      // The host executor takes seconds a picture; klab eval --backend simt shows them.
      const BackendChoice where = o_.backend == "simt" ? backend_named("cpu") : place_;
      const PictureMaker pictures(model, "best", where, times_,
                                  o_.backend == "cpu" ? std::optional<Plan>(plan) : std::nullopt);
      const Score score = evaluate(pictures.render(), model.placement().black, scene_.test, each);
      result_["score"] = json::parse(score_json(score));
      result_["seconds_evaluation"] = since(evaluation);
      fmt::print(words_, "\nPSNR      {:.2f} dB   SSIM {:.4f}   {:.2f} s a view\nprotocol  {}\n", score.psnr,
                 score.ssim, score.seconds, score.protocol);
      fmt::print(words_,
                 "time      {:.1f} s of training from the first step, {:.1f} s of evaluation not counted\n",
                 seconds_, since(evaluation));
    } catch (const EvaluationStopped&) {
      stop_heeded();
      result_["interrupted"] = true;
      fmt::print(words_, "interrupted during the evaluation: no score; klab eval {} takes it\n",
                 folder_->path().string());
    }
  }

  RunOptions o_;
  CallTimes& times_;
  FILE* words_;
  const BackendChoice place_;
  const OnGpu on_a_gpu_;  // what rungs support is asked of it
  const bool terminal_ = isatty(fileno(stderr)) != 0;
  std::optional<RunFolder> folder_;
  std::optional<TensorFile> checkpoint_;
  RunState state_;
  std::string scene_name_, where_;
  VariantIds wanted_;
  Scene scene_;
  std::vector<PlannedCall> calls_;
  StageCeilings ceilings_{omp_get_max_threads()};
  Clock::time_point begin_ = Clock::now();
  double state_before_ = 0;         // seconds of training before this process
  double aside_ = 0, seconds_ = 0;  // not spent on training; spent on it, when it has ended
  int64_t first_step_ = 0;
  json result_;
};

}  // namespace

fs::path model_file(const fs::path& given) {
  return fs::is_directory(given) ? given / "model.safetensors" : given;
}

std::string score_json(const Score& score) {
  json views = json::array();
  for (const ViewScore& v : score.views)
    views.push_back({{"name", v.name}, {"psnr", v.psnr}, {"ssim", v.ssim}, {"seconds", v.seconds}});
  return json{{"psnr", score.psnr},
              {"ssim", score.ssim},
              {"seconds_per_view", score.seconds},
              {"protocol", score.protocol},
              {"views", views}}
      .dump(2);
}

int train(RunOptions options, CallTimes& times) { return Run(std::move(options), times).go(); }

}  // namespace klab
