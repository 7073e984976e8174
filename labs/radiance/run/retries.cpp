#include "labs/radiance/run/retries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace klab {
namespace {

constexpr int64_t kStepsToSchedule = 500;  // finite steps after which rates are on their schedule again

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

void Retries::retry(FieldTrainer& trainer, const NotFinite& error) {
  if (!run_.options.retry_not_finite || retries_ == run_.options.retries) {
    std::string all = error.what();
    if (run_.options.retry_not_finite && run_.options.retries > 0)
      all +=
          fmt::format("; {} from the last checkpoint did not help, the last with learning rates times {:.4g}",
                      run_.options.retries == 1 ? "a try" : fmt::format("{} tries", run_.options.retries),
                      run_.rate_factor);
    if (const std::string view = odd_view(run_.scene.train); !view.empty()) all += "; " + view;
    throw NotFinite(all);
  }
  ++retries_;
  run_.rate_factor /= 2;
  finite_steps_ = 0;
  {
    const MemoryOwner owner("scratch");
    trainer.restore(TensorFile(run_.folder->file("checkpoint.safetensors")));
  }
  run_.set_rates(trainer);
  const std::string text =
      fmt::format("{}; back to step {} with learning rates times {:.4g} (try {} of {})", error.what(),
                  trainer.steps_done(), run_.rate_factor, retries_, run_.options.retries);
  fmt::print(stderr, "note      {}\n", text);
  texts_.push_back(text);
}

void Retries::count_finite_step(FieldTrainer& trainer) {
  if (run_.rate_factor == 1 || ++finite_steps_ < kStepsToSchedule) return;
  run_.rate_factor = 1;
  run_.set_rates(trainer);
  fmt::print(stderr, "note      {} finite steps: learning rates are on their schedule again\n",
             finite_steps_);
}

std::string remedy_of_not_finite(const RunContext& run) {
  return fmt::format("lower {} in the config{}; {}; {} says more", rates_of(run.options.settings),
                     run.options.retry_not_finite ? "" : ", or give --on-nan retry", run.resume_hint(),
                     kTroubleshooting);
}

}  // namespace klab
