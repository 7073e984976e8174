// Watching a run: validation on unseen views, shares of the stages over time, and what follows a step that is not finite.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/run/run_job.h"
#include "labs/radiance/run/stages.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kValidationPixels = 2048;  // at a time: training holds its memory meanwhile
constexpr int64_t kStepsToSchedule = 500;    // finite steps after which rates are on their schedule again
constexpr const char* kPage = "docs/troubleshooting.md";

}  // namespace

std::string odd_view(const std::vector<View>& views) {
  const auto finite = [](std::span<const float> values) {
    return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
  };
  for (const View& v : views) {
    const Camera& c = v.camera;
    const float lens[] = {c.fx, c.fy, c.cx, c.cy, c.k1, c.k2, c.p1, c.p2};
    if (!finite(c.pose) || !finite(lens)) return fmt::format("the camera of view {} is not finite", v.name);
    const auto at = std::ranges::find_if(v.depth, [](float d) { return !std::isfinite(d); });
    if (at != v.depth.end())
      return fmt::format("the depth of view {} is not finite at pixel ({}, {})", v.name,
                         (at - v.depth.begin()) % c.width, (at - v.depth.begin()) / c.width);
  }
  return "";
}

void RunJob::begin_watch(FieldTrainer& trainer) {
  if (o_.eval_every) validation_.emplace(scene_.test, *o_.eval_every, elapsed());
  std::error_code ignored;
  if (o_.retry_not_finite && !fs::exists(folder_->file("checkpoint.safetensors"), ignored)) save(trainer);
  if (ranks_.size() == 1) trainer.measure_next_gradient();
  set_rates(trainer);
}

void RunJob::require_what_watching_can() const {
  if (o_.eval_every && ranks_.size() > 1)
    throw std::runtime_error(
        "--eval-every: is for one process, since the others would wait; leave it out, and klab eval scores "
        "the run");
  if ((o_.plateau || o_.patience) && !o_.eval_every)
    throw std::runtime_error(fmt::format("{}: counts the scores of --eval-every: give that too",
                                         o_.plateau ? "--plateau" : "--patience"));
  if (o_.retry_not_finite && ranks_.size() > 1)
    throw std::runtime_error(
        "--on-nan retry: is for one process; leave it out, and --resume goes back by hand");
  if (o_.retry_not_finite && memory_.choice.resident > 0)
    throw std::runtime_error(
        "--on-nan retry: needs all pictures in memory, since their turns do not go back; give more --memory, "
        "or "
        "leave out --resident");
  if (o_.eval_every && !scene_.name.empty() && scene_.test.empty())
    throw std::runtime_error("--eval-every: the scene has no test views; give --holdout 8");
}

/// Makes pictures while the run trains. On another backend nothing is timed for it.
PictureMaker RunJob::picture_maker(const FieldModel& model) {
  // The host executor needs seconds for a picture.
  const BackendChoice where = o_.backend == "simt" ? backend_named("cpu") : place_;
  const std::optional<Plan> given = o_.backend == "cpu" ? plan_ : std::nullopt;
  return {model, "last", where, times_, given, std::min(memory_.choice.pixels, kValidationPixels)};
}

void RunJob::begin_view(FieldTrainer& trainer) {
  if (!o_.viewer) return;
  o_.viewer->begin({.folder = folder_->path(),
                    .field = o_.settings.field,
                    .scene = &scene_,
                    .black = trained_model(o_.settings, trainer)->placement().black,
                    .model =
                        [this, &trainer] {
                          const MemoryOwner owner("scratch");
                          return trained_model(o_.settings, trainer);
                        },
                    .pictures =
                        [this](const FieldModel& model) {
                          const MemoryOwner owner("scratch");
                          return picture_maker(model).render();
                        },
                    .save = [this, &trainer] { save(trainer); }});
  fmt::print(words_, "view      {}\n", o_.viewer->address());
  std::fflush(words_);
}

// Its time is not training time; Validation keeps it below its share.
void RunJob::validate(FieldTrainer& trainer) {
  if (!validation_ || !validation_->due(elapsed())) return;
  const auto start = Clock::now();
  const double now = elapsed();
  const bool first = validation_->points().empty();
  try {
    const MemoryOwner owner("scratch");
    const std::unique_ptr<FieldModel> model = trained_model(o_.settings, trainer);
    const PictureMaker pictures = picture_maker(*model);
    validation_->score(pictures.render(), model->placement().black, since(start), trainer.steps_done(), now);
    if (first) fmt::print(stderr, "note      {}\n", validation_->text());
    const ValidationPoint& p = validation_->last();
    fmt::print(stderr, "step {:6}  {}  unseen views: PSNR {:5.2f} dB  SSIM {:.4f}\n", p.step,
               duration_text(p.seconds), p.psnr, p.ssim);
    follow_score(trainer, p.psnr);
  } catch (const std::bad_alloc&) {
    validation_->put_off(now);
    fmt::print(stderr, "note      no memory for a validation: this one is left out\n");
  }
  aside_ += since(start);
}

// Halves the learning rates, or ends the run, after scores without a gain.
void RunJob::follow_score(FieldTrainer& trainer, double psnr) {
  const int64_t without = plateau_.add(psnr);
  if (without == 0) return;
  if (o_.plateau && without % *o_.plateau == 0) {
    state_.plateau_factor /= 2;
    set_rates(trainer);
    fmt::print(stderr, "note      {} scores without a gain of {} dB: learning rates times {:.4g}\n", without,
               Plateau::kGain, state_.plateau_factor);
  }
  if (o_.patience && without >= *o_.patience)
    ended_early_ =
        fmt::format("{} scores on unseen views in a row without a gain of {} dB", without, Plateau::kGain);
}

// Goes back to the last checkpoint with half the learning rates.
void RunJob::retry(FieldTrainer& trainer, const NotFinite& error) {
  if (!o_.retry_not_finite) throw error;
  if (retries_ == o_.retries) {
    std::string all = error.what();
    if (o_.retries > 0)
      all +=
          fmt::format("; {} from the last checkpoint did not help, the last with learning rates times {:.4g}",
                      o_.retries == 1 ? "a try" : fmt::format("{} tries", o_.retries), rate_factor_);
    if (const std::string view = odd_view(scene_.train); !view.empty()) all += "; " + view;
    throw NotFinite(all);
  }
  ++retries_;
  rate_factor_ /= 2;
  finite_steps_ = 0;
  {
    const MemoryOwner owner("scratch");
    trainer.restore(TensorFile(folder_->file("checkpoint.safetensors")));
  }
  set_rates(trainer);
  const std::string text =
      fmt::format("{}; back to step {} with learning rates times {:.4g} (try {} of {})", error.what(),
                  trainer.steps_done(), rate_factor_, retries_, o_.retries);
  fmt::print(stderr, "note      {}\n", text);
  result_tries_.push_back(text);
}

void RunJob::count_finite_step(FieldTrainer& trainer) {
  if (rate_factor_ == 1 || ++finite_steps_ < kStepsToSchedule) return;
  rate_factor_ = 1;
  set_rates(trainer);
  fmt::print(stderr, "note      {} finite steps: learning rates are on their schedule again\n",
             finite_steps_);
}

std::string RunJob::remedy_of_not_finite() const {
  return fmt::format("lower {} in the config{}; {}; {} says more", rates_of(o_.settings),
                     o_.retry_not_finite ? "" : ", or give --on-nan retry", left(), kPage);
}

}  // namespace klab
