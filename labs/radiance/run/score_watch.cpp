#include "labs/radiance/run/score_watch.h"

#include <fmt/format.h>

#include <new>

#include "labs/radiance/run/fields.h"

namespace klab {

void ScoreWatch::begin(const FieldTrainer& trainer) {
  const RunOptions& o = run_.options;
  if (o.eval_every)
    validation_.emplace(run_.scene.test, *o.eval_every, run_.clock.elapsed(), trainer.steps_done());
}

void ScoreWatch::validate(FieldTrainer& trainer) {
  if (!validation_ || !validation_->due(run_.clock.elapsed(), trainer.steps_done())) return;
  const auto start = RunClock::Clock::now();
  const double now = run_.clock.elapsed();
  const bool first = validation_->points().empty();
  try {
    const MemoryOwner owner("scratch");
    const std::unique_ptr<FieldModel> model = trained_model(run_.options.settings, trainer);
    const PictureMaker pictures = run_.picture_maker(*model);
    validation_->score(pictures.render(), model->placement().black, RunClock::since(start),
                       trainer.steps_done(), now);
    if (first) fmt::print(stderr, "note      {}\n", validation_->text());
    const ValidationPoint& p = validation_->last();
    fmt::print(stderr, "step {:6}  {}  unseen views: PSNR {:5.2f} dB  SSIM {:.4f}\n", p.step,
               duration_text(p.seconds), p.psnr, p.ssim);
    follow_score(trainer, p.psnr);
  } catch (const std::bad_alloc&) {
    validation_->put_off(now);
    fmt::print(stderr, "note      no memory for a validation: this one is left out\n");
  }
  run_.clock.leave_out(RunClock::since(start));
}

// Halves the learning rates, or ends the run, after scores without a gain.
void ScoreWatch::follow_score(FieldTrainer& trainer, double psnr) {
  const int64_t without = plateau_.add(psnr);
  if (without == 0) return;
  if (run_.options.plateau && without % *run_.options.plateau == 0) {
    run_.state.plateau_factor /= 2;
    run_.set_rates(trainer);
    fmt::print(stderr, "note      {} scores without a gain of {} dB: learning rates times {:.4g}\n", without,
               Plateau::kGain, run_.state.plateau_factor);
  }
  if (run_.options.patience && without >= *run_.options.patience)
    ended_early_ =
        fmt::format("{} scores on unseen views in a row without a gain of {} dB", without, Plateau::kGain);
}

}  // namespace klab
