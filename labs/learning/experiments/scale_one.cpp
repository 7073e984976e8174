// Half precision without a loss scale: where it ends a training, and where Adam hides that most gradients are gone.
#include <fmt/format.h>

#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/experiments/small_field.h"

namespace klab::learning {
namespace {

constexpr int64_t kSmall = 4096, kLarge = 1 << 16;  // samples of a batch
constexpr double kSeen = 1;                         // dB that nobody overlooks

struct Trained {
  double psnr = 0;
  double gone = 0;  // share of the gradients that became 0
  bool ended = false;
};

/// The mean of a squared error over so many rays has gradients as small as the batch is large.
SmallField field_of(uint64_t seed, int64_t batch) {
  SmallField field(seed);
  field.config.loss = "mse";
  field.config.batch_samples = batch;
  field.config.first_rays = batch / 16;
  return field;
}

Trained train(const SmallField& field, int64_t steps, const StepPrecision& precision) {
  try {
    const auto trainer = field.trained(steps, precision);
    return {.psnr = field.psnr(trainer->averaged()), .gone = trainer->lost().share()};
  } catch (const NotFinite&) {
    return {.ended = true};
  }
}

/// dB by precision and batch, and what was gone.
struct Row {
  Trained floats, one, dynamic;
};

Row row_of(Outcome& out, uint64_t seed, int64_t batch, int64_t steps) {
  const SmallField field = field_of(seed, batch);
  const Row row = {.floats = train(field, steps, {}),
                   .one = train(field, steps, with_static_scale(half_formats(), 1)),
                   .dynamic = train(field, steps, with_dynamic_scale(half_formats()))};
  const auto add = [&](const char* name, const Trained& t) {
    out.rows.push_back({std::to_string(batch), name, t.ended ? "ended" : fmt::format("{:.2f}", t.psnr),
                        percent_text(t.gone)});
  };
  add("f32", row.floats);
  add("f16, scale 1", row.one);
  add("f16, dynamic scale", row.dynamic);
  return row;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"samples in a batch", "trained in", "PSNR, dB", "gradients that became 0"},
              .x = "log2 of a static loss scale",
              .y = "PSNR, dB"};
  const Row small = row_of(out, seed, kSmall, 150), large = row_of(out, seed, kLarge, 60);
  Curve curve{fmt::format("{} samples, static scale", kLarge), {}};
  const SmallField field = field_of(seed, kLarge);
  for (const int power : {-4, 0, 4, 8}) {
    const Trained t =
        power == 0 ? large.one : train(field, 60, with_static_scale(half_formats(), std::exp2(power)));
    if (!t.ended) curve.points.emplace_back(power, t.psnr);
  }
  out.curves = {curve, {"the same in f32", {{-4, large.floats.psnr}, {8, large.floats.psnr}}}};
  const double lost = large.dynamic.psnr - large.one.psnr, hidden = small.dynamic.psnr - small.one.psnr;
  out.decided = {
      {"half precision without a loss scale fails visibly, and a dynamic scale does not",
       lost > kSeen && large.dynamic.psnr > large.floats.psnr - kSeen ? Finding::held : Finding::depends,
       fmt::format(
           "a mean squared error over the rays of {} samples: {:.2f} dB with scale 1, where {} of the "
           "gradients become 0; {:.2f} with a dynamic one, {:.2f} in float",
           kLarge, large.one.psnr, percent_text(large.one.gone), large.dynamic.psnr, large.floats.psnr)},
      {"gradients that vanish are missed by a training",
       std::abs(hidden) < kSeen ? Finding::depends : Finding::held,
       fmt::format(
           "over the rays of {} samples {} of the gradients become 0 with scale 1, and {:.2f} dB become "
           "{:.2f}: what vanishes are the small ones, and Adam divides what is left by its own size, so "
           "that steps stay as long as they were; it takes all gradients of a parameter to be gone, most "
           "of the time, before it stands still",
           kSmall, percent_text(small.one.gone), small.dynamic.psnr, small.one.psnr)}};
  return out;
}

const ExperimentRegistrar registrar({"scale_one",
                                     "Half precision without a loss scale, over small batches and large ones",
                                     run});

}  // namespace
}  // namespace klab::learning
