#include "labs/radiance/run/run.h"

#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/gpu/gpu.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/report/table.h"
#include "labs/radiance/run/budget.h"
#include "labs/radiance/run/cpu_share.h"
#include "labs/radiance/run/evaluation.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/metrics.h"
#include "labs/radiance/run/shortage.h"
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

// Of training, and of the pictures that evaluate it: these must be possible, and do not decide what is best.
// On another backend pictures have a plan of their own.
std::vector<PlannedCall> run_calls(const Config& config, int cascades, const std::string& ladder) {
  std::vector<PlannedCall> calls = training_calls(config, cascades);
  if (ladder != "cpu") return calls;
  const auto pictures = render_calls(config, cascades, 0);
  calls.insert(calls.end(), pictures.begin(), pictures.end());
  return calls;
}

/// One run, from the options to the files.
class Run {
 public:
  Run(RunOptions options, CallTimes& times)
      : o_(std::move(options)),
        times_(times),
        words_(o_.json ? stderr : stdout),
        place_(backend_named(o_.backend)),
        on_a_gpu_(o_.backend == "cuda") {}

  /// go(); what ends it for want of memory leaves the account, and says what can be gone on with.
  int go_or_say() {
    try {
      try {
        return go();
      } catch (const std::bad_alloc&) {
        throw OutOfMemory("an allocation failed");
      }
    } catch (const OutOfMemory& e) {
      fmt::print(stderr, "{}", peaks_text(memory_.account));
      throw std::runtime_error(fmt::format("out of memory: {}; {}", e.what(), left()));
    }
  }

  int go() {
    require_unused(o_.out);
    if (!o_.resume.empty()) take_over();
    if (!o_.seconds && !o_.steps) o_.seconds = 60;
    choose_plan();
    read_scene();
    open_folder();
    // From here on an interruption is an orderly end, while rungs are timed too.
    const StopSignals signals;
    const Plan plan = Plan::fixed(wanted_, where_, calls_, times_, place_.ladder);
    fmt::print(words_, "{}", plan.text());
    state_.plan = plan.ids();
    write_file(folder_->file("plan.json"), to_json_text(plan));
    announce_grid();
    open_pool();
    std::optional<Model> model;
    {
      const std::unique_ptr<Trainer> trainer = make_trainer(plan);
      if (checkpoint_) {
        trainer->restore(*checkpoint_);
        checkpoint_.reset();
        fmt::print(words_, "resumed   at step {}, {}\n", trainer->steps_done(),
                   duration_text(state_.seconds));
      }
      std::fflush(words_);
      fit(*trainer);
      save(*trainer);
      const MemoryOwner owner("scratch");
      model.emplace(trainer->averaged());
      report(*trainer);
    }
    pool_.reset();
    model->save(folder_->file("model.safetensors"));
    evaluate_on_tests(*model, plan);
    result_["peak_memory"] = peak_memory();
    result_["memory"] = memory_json(memory_, budget_);
    if (!o_.json) fmt::print("{}", peaks_text(memory_.account));
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
    o_.config = config_from_json(checkpoint_->metadata("config"), "the checkpoint's config");
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
    const bool as_before = !o_.plan && !state_.plan.empty();
    where_ = as_before ? "of the checkpoint (--plan best chooses anew)" : o_.plan.value_or("best");
    const std::vector<PlannedCall> calls = run_calls(o_.config, 1, place_.ladder);
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
    scene_ = load_scene(scene_name_, {.downscale = state_.downscale,
                                      .holdout = state_.holdout,
                                      .seed = state_.seed,
                                      .pictures = false,
                                      .say = say});
    for (const std::string& note : scene_.notes) fmt::print(words_, "note      {}\n", note);
    if (checkpoint_) require_same_scene(state_, scene_, scene_name_);
    state_.views = views_of(scene_);
    calls_ = run_calls(o_.config, scene_.cascades, place_.ladder);
    Plan::require(wanted_, where_, calls_, place_.ladder);
    plan_memory();
  }

  /// What fits into the budget is chosen before a picture is read.
  void plan_memory() {
    const int64_t read = checkpoint_ ? int64_t(checkpoint_->data_bytes()) : 0;
    const MemoryFacts facts{.scene = &scene_,
                            .sizes = place_.sizes,
                            .timed = calls_,
                            .program = resident_memory() - read,
                            .workers = o_.workers,
                            .ahead = o_.ahead,
                            .pictures_here = place_.backend.in_host_memory,
                            .evaluated = o_.evaluate,
                            .resumed = read};
    budget_ = memory_budget(o_.memory, facts.program);
    const auto views = int64_t(scene_.train.size());
    const int64_t resident = o_.resident && *o_.resident < views ? *o_.resident : 0;
    if (resident > 0 && scene_.train.front().file.empty())
      throw std::runtime_error("--resident: the pictures of this scene are made here and stay in memory");
    memory_ = fit_memory(facts, {.config = o_.config, .resident = resident}, budget_);
    fmt::print(words_, "{}", account_text(memory_.account, budget_));
    if (!memory_.smaller.empty()) fmt::print(words_, "to fit    {}\n", fmt::join(memory_.smaller, ", "));
    std::fflush(words_);
    const std::string remedy =
        "lower \"log2_table\", \"grid\" or \"batch_samples\" in the config, or use --downscale";
    o_.config = memory_.choice.config;
    calls_ = run_calls(o_.config, scene_.cascades, place_.ladder);
    if (!facts.pictures_here)
      require_room(place_.backend, Trainer::bytes_of(scene_, o_.config, place_.sizes, true), "the run",
                   remedy);
    require_memory(memory_.account.total() - facts.program, "the run", remedy);
    if (memory_.choice.resident > 0) return;
    load_pictures(scene_.train);
    load_pictures(scene_.test);
  }

  /// Those that take turns, where not all are in memory.
  void open_pool() {
    if (memory_.choice.resident == 0) return;
    const int64_t steps_done = checkpoint_ ? Trainer::steps_in(*checkpoint_) : 0;
    pool_.emplace(scene_.train,
                  PicturePool::Options{.resident = memory_.choice.resident,
                                       .ahead = o_.ahead,
                                       .workers = o_.workers,
                                       .seed = state_.seed,
                                       .cache = folder_->path()},
                  steps_done / Trainer::kTurnEvery);
  }

  void open_folder() {
    if (!folder_) folder_.emplace(RunFolder::create(o_.out, scene_.name));
    const int64_t model = Model::bytes_of(o_.config, scene_.cascades);
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
    const double cells = double(scene_.cascades) * double(o_.config.grid * o_.config.grid * o_.config.grid);
    if (cells < kLargeGrid) return;
    fmt::print(words_,
               "grid      {:.0f} M cells: that and the first updates, which look at all of them, take a "
               "while before the first "
               "step (\"grid\" in the config makes it {})\n",
               cells * 1e-6, o_.config.grid);
    std::fflush(words_);
  }

  double elapsed() const { return state_before_ + since(begin_) - aside_; }

  void sample_ceilings(Trainer& trainer) {
    const auto start = Clock::now();
    ceilings_.sample(trainer.profile());
    aside_ += since(start);
  }

  void save(Trainer& trainer) {
    RunState now = state_;
    now.seconds = seconds_ > 0 ? seconds_ : elapsed();
    now.budget_seconds = o_.seconds.value_or(0);
    now.budget_steps = o_.steps.value_or(0);
    trainer.save(folder_->file("checkpoint.safetensors"), to_metadata(now));
  }

  void fit(Trainer& trainer) {
    first_step_ = trainer.steps_done();
    Metrics metrics(folder_->file("metrics.csv"), first_step_);
    Progress progress;
    CpuShare cpu;
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
      if (memory_.choice.ceilings &&
          (done - *first_done) / (1 - *first_done) * kCeilingSamples > ceilings_.samples() + 0.5)
        sample_ceilings(trainer);
      const auto step_began = Clock::now();
      const StepReport report = shortage_.through(trainer, [&] { return step(trainer, done); });
      step_took(since(step_began));
      state_.samples += double(report.samples);
      const double after = elapsed();
      if (after - last_report >= kReportEvery || report.step == 1) {
        const double rate = (state_.samples - samples_then) / std::max(after - last_report, 1e-9);
        const double psnr = colors_of(trainer);
        metrics.line({.report = report,
                      .psnr = psnr,
                      .seconds = after,
                      .rate = rate,
                      .occupied = trainer.occupied_share(),
                      .memory = resident_memory(),
                      .memory_peak = peak_memory(),
                      .cpu = cpu.share(),
                      .waited = waited(trainer),
                      .learning_rate = trainer.learning_rate(),
                      .batch = trainer.batch_samples()});
        show(report, psnr, rate, after, last_report, progress);
        last_report = after;
        samples_then = state_.samples;
      }
      if (after - last_checkpoint >= o_.checkpoint_every) {
        shortage_.through(trainer, [&] { save(trainer); });
        last_checkpoint = elapsed();
      }
    }
    stop_heeded();
    const bool trained = trainer.steps_done() > first_step_;
    for (int last = 1; trained && memory_.choice.ceilings && (last > 0 || ceilings_.samples() < 5); --last)
      sample_ceilings(trainer);
    seconds_ = elapsed();
    progress.clear();
  }

  /// A step; where the backend or a picture fails in it, the message says what can be gone on with.
  StepReport step(Trainer& trainer, double done) const {
    try {
      return trainer.step(done);
    } catch (const NotFinite&) {
      throw;
    } catch (const std::runtime_error& e) {
      if (o_.backend == "cpu" && !pool_) throw;
      throw std::runtime_error(
          fmt::format("--backend {}, step {}: {}; {}", o_.backend, trainer.steps_done(), e.what(), left()));
    }
  }

  /// What can be gone on with.
  std::string left() const {
    if (!folder_) return "nothing was written";
    const fs::path checkpoint = folder_->file("checkpoint.safetensors");
    std::error_code error;
    if (!fs::exists(checkpoint, error)) return "there is no checkpoint yet";
    return fmt::format("the last checkpoint is {}: klab train --resume {} goes on from it, on any backend",
                       checkpoint.string(), folder_->path().string());
  }

  /// PSNR of the batch; none where there is no memory to look at it.
  static double colors_of(Trainer& trainer) {
    try {
      return trainer.batch_psnr();
    } catch (const std::bad_alloc&) {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  static double waited(const Trainer& trainer) {
    const auto at = trainer.profile().seconds().find("waiting for data");
    return at == trainer.profile().seconds().end() ? 0 : at->second;
  }

  /// With a smaller batch where there is no memory for the one that was planned.
  std::unique_ptr<Trainer> make_trainer(const Plan& plan) {
    const auto make = [&](int64_t samples) {
      Config config = o_.config;
      config.batch_samples = samples;
      config.first_rays = std::min(config.first_rays, samples);
      return std::make_unique<Trainer>(scene_, config, plan, state_.seed, place_.backend, place_.sizes,
                                       pool_ ? &*pool_ : nullptr);
    };
    return shortage_.made(o_.config.batch_samples, make);
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

  void report(Trainer& trainer) {
    const Shares shares = ceilings_.shares(trainer.profile());
    const double rate = state_.samples / std::max(seconds_, 1e-9);
    result_ = {{"scene", as_utf8(scene_.name)},
               {"format", scene_.format},
               {"steps", trainer.steps_done()},
               {"seconds_training", seconds_},
               {"samples", state_.samples},
               {"samples_per_second", rate},
               {"seed", state_.seed},
               {"backend", o_.backend},
               {"host_waits_per_step", double(trainer.host_counts().waits) /
                                           double(std::max<int64_t>(1, trainer.steps_done() - first_step_))},
               {"interrupted", bool(stop_requested)},
               {"allocations_failed", shortage_.failures()},
               {"batch_samples", trainer.batch_samples()},
               {"stages", stages_json(trainer.profile(), shares)},
               {"config", json::parse(config_to_json(o_.config))},
               {"plan", state_.plan}};
    fmt::print(words_,
               "\ntrained   {} steps in {:.1f} s ({:.3f} M samples per second through the whole step)\n",
               trainer.steps_done(), seconds_, rate * 1e-6);
    if (!o_.json && seconds_ > state_before_)
      print_stages(trainer.profile(), shares, trainer.steps_done() - first_step_);
    std::fflush(words_);
  }

  void evaluate_on_tests(const Model& model, const Plan& plan) {
    if (!o_.evaluate) {
      fmt::print(words_, "not evaluated (--no-eval)\n");
      return;
    }
    if (scene_.test.empty()) {
      fmt::print(words_, "no test views: nothing to measure the model against\n");
      return;
    }
    const auto evaluation = Clock::now();
    // The host executor takes seconds a picture; klab eval --backend simt shows them.
    const BackendChoice where = o_.backend == "simt" ? backend_named("cpu") : place_;
    const std::optional<Plan> given = o_.backend == "cpu" ? std::optional<Plan>(plan) : std::nullopt;
    const Evaluation e =
        evaluate_run(model, where, given, times_, scene_.test, memory_.choice.pixels, *folder_);
    if (!e.score) {
      result_["interrupted"] = e.why.empty();
      fmt::print(words_, "{}; klab eval {} takes the score\n",
                 e.why.empty() ? "interrupted during the evaluation: no score" : e.why,
                 folder_->path().string());
      return;
    }
    const Score& score = *e.score;
    result_["score"] = json::parse(score_json(score));
    result_["seconds_evaluation"] = since(evaluation);
    fmt::print(words_, "\nPSNR      {:.2f} dB   SSIM {:.4f}   {:.2f} s a view\nprotocol  {}\n", score.psnr,
               score.ssim, score.seconds, score.protocol);
    fmt::print(words_,
               "time      {:.1f} s of training from the first step, {:.1f} s of evaluation not counted\n",
               seconds_, since(evaluation));
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
  MemoryBudget budget_;
  MemoryPlan memory_;
  std::optional<PicturePool> pool_;
  Shortage shortage_{[this](const std::string& text) { fmt::print(stderr, "note      {}\n", text); }};
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

int train(RunOptions options, CallTimes& times) {
  // What is large and was given back is the system's again, so that the account and the process agree.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  return Run(std::move(options), times).go_or_say();
}

}  // namespace klab
