#include "labs/radiance/run/run_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/json_schema.h"
#include "harness/records/memory_left.h"
#include "labs/radiance/run/camera_list.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/counted_step.h"
#include "labs/radiance/run/evaluation.h"
#include "labs/radiance/run/stages.h"
#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

}  // namespace

void RunResult::report(FieldTrainer& trainer, const FieldModel& model, const TrainingLoop& loop,
                       const RunRanks& ranks, const BatchRelief& relief) {
  const Shares shares = loop.ceilings().shares(trainer.profile());
  if (!loop.ceilings().left_out().empty())
    fmt::print(run_.out, "note      ceilings that would take more than {}: not measured: {}\n",
               bytes_text(StageCeilings::kMostBytes), fmt::join(loop.ceilings().left_out(), ", "));
  const double rate = run_.state.samples / std::max(run_.clock.seconds(), 1e-9);
  result_ = {
      {"scene", as_utf8(run_.scene.name)},
      {"format", run_.scene.format},
      {"field", run_.options.settings.field},
      {"bytes", model.bytes()},
      {"steps", trainer.steps_done()},
      {"seconds_training", run_.clock.seconds()},
      {"samples", run_.state.samples},
      {"samples_per_second", rate},
      {"seed", run_.state.seed},
      {"backend", run_.options.backend},
      {"host_waits_per_step", double(trainer.host_counts().waits) /
                                  double(std::max<int64_t>(1, trainer.steps_done() - loop.first_step()))},
      {"ranks", run_.ranks.size()},
      {"parts", run_.parts()},
      {"exchange", run_.ranks.size() > 1 ? run_.options.exchange : "none"},
      {"bytes_sent_per_step", loop.sent_per_step(trainer)},
      {"touched_share", ranks.touched().share()},
      {"touched_by_any_share", ranks.touched().by_any_share()},
      {"interrupted", bool(stop_requested)},
      {"allocations_failed", relief.shortage().failures()},
      {"batches_shrunk", relief.batches_shrunk()},
      {"batches_grown", relief.batches_grown()},
      {"batch_samples",
       trainer.batch_samples() > 0 ? trainer.batch_samples() : batch_samples(run_.options.settings)},
      {"stages", stages_json(trainer.profile(), shares)},
      {"config", json::parse(to_json_text(run_.options.settings))},
      {"precision", run_.state.precision},
      {"plan", run_.state.plan}};
  if (const std::string& why = loop.watch().ended_early(); !why.empty()) {
    result_["ended_early"] = why;
    fmt::print(run_.out, "\nended     early: {}\n", why);
  }
  if (const auto& validation = loop.watch().validation()) result_["validation"] = validation->to_json();
  if (run_.options.viewer) result_["seconds_viewing"] = loop.viewing_took();
  if (const auto& texts = loop.retries().texts(); !texts.empty()) result_["retries"] = texts;
  if (const LossScale* scale = trainer.loss_scale()) {
    result_["loss_scale"] = scale->value();
    result_["skipped_steps"] = scale->state().skipped;
    result_["gradients_to_zero"] = trainer.lost().share();
    fmt::print(
        run_.out,
        "\nloss scale {:.0f} at the end; {} of {} steps left out; {:.2f} % of the gradients became 0\n",
        scale->value(), scale->state().skipped, trainer.steps_done(), 100 * trainer.lost().share());
  }
  fmt::print(run_.out,
             "\ntrained   {} steps in {:.1f} s ({:.3f} M samples per second through the whole step)\n",
             trainer.steps_done(), run_.clock.seconds(), rate * 1e-6);
  if (run_.ranks.size() > 1)
    fmt::print(run_.out, "exchange  {}: a rank sends {:.3f} MB a step\n", run_.options.exchange,
               loop.sent_per_step(trainer) * 1e-6);
  if (!run_.options.json && run_.clock.seconds() > run_.clock.before() && !counts_a_step())
    print_stages(trainer.profile(), shares, trainer.steps_done() - loop.first_step());
  if (const std::vector<LevelUse>& levels = loop.levels(); !levels.empty()) {
    result_["levels"] = levels_json(levels);
    if (!run_.options.json) print_levels(levels);
  }
  if (const std::string news = trainer.table_news(); !news.empty()) {
    result_["table"] = news;
    fmt::print(run_.out, "table     {}\n", news);
  }
  std::fflush(run_.out);
}

// Returns whether the step is small enough and all its pictures are in memory.
bool RunResult::counts_a_step() const {
  return run_.options.backend == "simt" && run_.ranks.first() && run_.ranks.size() == 1 && !run_.pool &&
         !stop_requested && batch_samples(run_.options.settings) <= kMostCounted;
}

void RunResult::count_a_step() {
  if (!counts_a_step()) return;
  const StepCounts counts = count_step(run_.options.settings, run_.scene, *run_.plan, run_.state.seed,
                                       run_.place, run_.folder->file("checkpoint.safetensors"));
  result_["counted_step"] = counts_json(counts);
  if (!run_.options.json) print_counts(run_.out, counts);
  std::fflush(run_.out);
}

void RunResult::save_model(const FieldModel& model) {
  const int64_t steps = result_.at("steps");
  model_file_ = earlier_ ? earlier_->model_file(steps) : run_.folder->file("model.safetensors");
  model.save(model_file_);
}

// Two views that it was trained on, small: how far it is from what it has seen. Left out where memory is short.
void RunResult::show_training_views(const FieldModel& model) {
  constexpr int kSide = 400;  // pixels of the longer side, at most
  if (run_.pool || !run_.ranks.first()) return;
  try {
    const MemoryOwner owner("scratch");
    const PictureMaker pictures(model, "last", run_.place_of_pictures(), run_.times, run_.plan_of_pictures(),
                                run_.memory.choice.pixels);
    const size_t views = run_.scene.train.size();
    for (const size_t i : {size_t{0}, views / 2}) {
      const Camera& camera = run_.scene.train[i].camera;
      const View view = reduced_view(
          run_.scene.train[i], std::max(1, (std::max(camera.width, camera.height) + kSide - 1) / kSide));
      save_comparison(run_.folder->file(fmt::format("train_{}.png", i)), view, pictures.render()(view.camera),
                      model.placement().black);
    }
  } catch (const std::bad_alloc&) {
    fmt::print(run_.out, "note      no memory for pictures of training views\n");
  }
}

void RunResult::evaluate(FieldModel& model) {
  if (!run_.options.evaluate) {
    fmt::print(run_.out, "not evaluated (--no-eval)\n");
    return;
  }
  if (run_.scene.test.empty()) {
    fmt::print(run_.out, "no test views: nothing to measure the model against\n");
    return;
  }
  const auto evaluation = RunClock::Clock::now();
  const std::optional<Plan> given = run_.plan_of_pictures();
  // Ranks share the views if each gets at least one and all use one plan.
  const bool shared = run_.ranks.size() > 1 && given && int64_t(run_.scope.views.size()) >= run_.ranks.size();
  if (!shared && !run_.ranks.first()) return;
  const ScoreScope mine = shared ? part_of(run_.scope, run_.ranks.rank(), run_.ranks.size()) : run_.scope;
  Evaluation e = evaluate_run(model, run_.place_of_pictures(), given, run_.times, run_.scene.test,
                              run_.memory.choice.pixels, run_.shared_folder, mine, run_.scope.views);
  if (shared) e = merge_scores(e, run_.ranks, run_.scope, model.placement().black);
  if (!run_.ranks.first()) return;
  if (!e.score) {
    result_["interrupted"] = e.why.empty();
    fmt::print(run_.out, "{}; klab eval {} takes the score\n",
               e.why.empty() ? "interrupted during the evaluation: no score" : e.why,
               run_.folder->path().string());
    return;
  }
  sheet_ = std::move(e.sheet);
  score_ = std::move(e.score);
  const Score& score = *score_;
  result_["score"] = json::parse(score_json(score));
  result_["seconds_evaluation"] = RunClock::since(evaluation);
  fmt::print(run_.out, "\nPSNR      {:.2f} dB   SSIM {:.4f}   {:.2f} s a view\nprotocol  {}\n", score.psnr,
             score.ssim, score.seconds, score.protocol);
  fmt::print(run_.out,
             "time      {:.1f} s of training from the first step, {:.1f} s of evaluation not counted\n",
             run_.clock.seconds(), RunClock::since(evaluation));
  show_training_views(model);
}

void RunResult::write() {
  result_["peak_memory"] = peak_memory();
  result_["memory"] = memory_json(run_.memory, run_.budget);
  if (!run_.options.json) fmt::print("{}", peaks_text(run_.memory.account));
  result_ = with_schema("training", result_);
  fmt::print(run_.out, "memory    {:.2f} GB at most\n", double(peak_memory()) * 1e-9);
  const std::string kept = earlier_ ? earlier_->put(result_) : "";
  if (!earlier_) write_file(run_.folder->file("result.json"), result_.dump(2) + "\n");
  if (!kept.empty()) fmt::print(run_.out, "note      {}\n", kept);
  std::error_code ignored;
  fmt::print(
      run_.out, "written   {}\n",
      (fs::exists(model_file_, ignored) ? model_file_ : run_.folder->file("model.safetensors")).string());
  write_pictures();
  if (run_.options.json) fmt::print("{}\n", result_.dump(2));
}

// Comes after the result, which a full disk must not cost. A run without a new score keeps those of its last evaluation.
void RunResult::write_pictures() {
  const fs::path cameras = run_.folder->file("cameras.json"), sheet = run_.folder->file("contact_sheet.png");
  std::error_code ignored;
  if (score_ || !fs::exists(cameras, ignored))
    write_file(cameras,
               cameras_json(run_.scene, run_.scope.views, score_ ? score_->views : std::vector<ViewScore>()));
  if (sheet_.empty()) return;
  sheet_.save(sheet);
  fmt::print(run_.out, "sheet     {}: {}\n", sheet.string(), sheet_.legend());
}

}  // namespace klab
