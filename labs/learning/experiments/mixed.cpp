// A radiance field trained in float, bfloat16 and half precision: seconds, dB, learning rates and scales; and
// the part of its memory that is halved.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "harness/check/check.h"
#include "harness/core/registry.h"
#include "harness/core/timing_question.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/learning/experiments/small_field.h"
#include "labs/radiance/field/codec.h"

namespace klab::learning::mixed_experiment {
namespace {

const Claim kFaster{.id = "mixed.speed",
                    .said = "mixed precision is 1.5 to 2 times as fast",
                    .source = "plan",
                    .metric = "time of a step in float over that in 16 bits",
                    .rule = at_least(1.5),
                    .kind = ClaimKind::timed,
                    .on = "the format"};
const Claim kQuality{.id = "mixed.quality",
                     .said = "mixed precision costs 0.3 dB at most",
                     .source = "plan",
                     .metric = "dB lost in halves with a dynamic loss scale",
                     .rule = at_most(0.3)};
const Claim kRate{.id = "mixed.rate",
                  .said = "half precision wants a learning rate 20 to 30 % lower",
                  .source = "plan",
                  .metric = "dB gained in halves by a lower rate",
                  .rule = at_least(0.3),
                  .on = "the rate"};

/// A training that ended because values were not finite has no PSNR; it counts as 0 dB.
double or_nothing(double psnr) { return std::isnan(psnr) ? 0 : psnr; }

constexpr int64_t kSteps = 150, kTimed = 40;

/// Returns the untimed plan with bfloat16 factors where a supported rung has them; sets `any` if there is
/// one.
Plan brain_plan(const std::vector<PlannedCall>& calls, bool& any) {
  VariantIds ids = untimed_plan(calls).ids();
  any = false;
  for (const PlannedCall& call : calls)
    for (const Variant* v : variants_of(call.op, "cpu"))
      if (!v->peer && v->numerics.unit == Unit::bf16 &&
          supported_for_timing(*v, call.shape, this_host()).empty())
        ids[call.op] = v->id, any = true;
  CallTimes none(std::vector<CallTime>{});
  return Plan::fixed(ids, "of experiments", calls, none, "cpu", Unit::bf16);
}

double seconds_of(Trainer& trainer) {
  const auto begin = std::chrono::steady_clock::now();
  trainer.step(0);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns each trainer's median seconds per step, interleaved, after they have learned which space is empty.
std::vector<double> step_seconds(const std::vector<Trainer*>& trainers) {
  std::vector<std::vector<double>> times(trainers.size());
  for (int64_t i = 0; i < kTimed; ++i)
    for (size_t k = 0; k < trainers.size(); ++k) times[k].push_back(seconds_of(*trainers[k]));
  std::vector<double> medians;
  for (auto& t : times) {
    std::ranges::nth_element(t, t.begin() + kTimed / 2);
    medians.push_back(t[kTimed / 2]);
  }
  return medians;
}

/// Returns the dB in half precision with the learning rate multiplied by `times`.
double psnr_at_rate(SmallField field, double times) {
  field.config.learning_rate *= times;
  return field.psnr_of(kSteps, with_dynamic_scale(half_formats()));
}

Outcome run(uint64_t seed) {
  Outcome out{
      .heads = {"trained in", "PSNR, dB", "ms a step"}, .x = "log2 of a static loss scale", .y = "PSNR, dB"};
  const SmallField field(seed);
  const auto floats = field.trained(kSteps),
             halves = field.trained(kSteps, with_dynamic_scale(half_formats()));
  bool native = false;
  const auto brain = field.trainer();
  brain->use(brain_plan(training_calls(field.config, field.scene.cascades), native));
  for (int64_t i = 0; i < kSteps; ++i) brain->step(double(i) / kSteps);
  const double db32 = field.psnr(floats->averaged()), db16 = field.psnr(halves->averaged()),
               db_brain = field.psnr(brain->averaged());
  const auto times = step_seconds({floats.get(), halves.get(), brain.get()});
  const auto row = [&](const std::string& name, double db, double seconds) {
    out.rows.push_back(
        {name, fmt::format("{:.2f}", db), seconds > 0 ? fmt::format("{:.2f}", 1e3 * seconds) : ""});
  };
  row("f32", db32, times[0]);
  row("f16, dynamic scale", db16, times[1]);
  row(native ? "bf16, native products" : "bf16: no rung can run here, so f32", db_brain, times[2]);
  Curve statics{"f16, static scale", {}};
  for (const int power : {-24, -12, 0, 12, 24}) {
    const double db = field.psnr_of(kSteps, with_static_scale(half_formats(), std::exp2(power)));
    row(fmt::format("f16, static scale 2^{}", power), db, 0);
    if (!std::isnan(db)) statics.points.emplace_back(power, db);
  }
  const double at8 = psnr_at_rate(field, 0.8), at5 = psnr_at_rate(field, 0.5);
  row("f16, learning rate times 0.8", at8, 0);
  row("f16, learning rate times 0.5", at5, 0);
  const double faster = times[0] / times[1], brain_faster = times[0] / times[2];
  out.decided = {
      decide(kFaster, {{"halves", {faster}}, {"bfloat16", {brain_faster}}},
             fmt::format(
                 "{:.2f} times with bfloat16 {}, {:.2f} with halves, which are rounded by software here; "
                 "only the networks have "
                 "such products, and they are a part of a step",
                 brain_faster,
                 native ? "products of the processor" : "(which this processor cannot multiply)", faster)),
      decide(kQuality, db32 - db16,
             fmt::format(
                 "{:.2f} dB in float, {:.2f} in halves, {:.2f} with bfloat16 factors; toy trainings differ "
                 "by half a dB with the rays they draw",
                 db32, db16, db_brain)),
      decide(
          kRate, {{"0.8 times", {or_nothing(at8) - db16}}, {"0.5 times", {or_nothing(at5) - db16}}},
          fmt::format("{:.2f} dB at the same rate, {:.2f} at 0.8 and {:.2f} at 0.5 times of it; what is not "
                      "finite is met by the scale: {} "
                      "steps left out",
                      db16, at8, at5, halves->loss_scale()->state().skipped))};
  out.curves = {
      statics, {"f32", {{-24, db32}, {24, db32}}}, {"f16, dynamic scale", {{-24, db16}, {24, db16}}}};
  return out;
}

const ExperimentRegistrar registrar(
    {"mixed", "A radiance field trained in 32 and in 16 bits", run, nullptr, {kFaster, kQuality, kRate}});

const Claim kHalved{.id = "mixed_memory.training",
                    .said = "half precision halves the memory of a training",
                    .source = "plan",
                    .metric = "bytes of a step in mixed precision over those in float",
                    .rule = at_most(0.6),
                    .kind = ClaimKind::exact};
const Claim kModel{.id = "mixed_memory.model",
                   .said = "half precision halves the bytes of a model",
                   .source = "plan",
                   .metric = "bytes of the stored model over those in float",
                   .rule = between(0.5, 0.5),
                   .kind = ClaimKind::exact};
const Claim kBatch{.id = "mixed_memory.batch",
                   .said = "the batch can double in half precision",
                   .source = "plan",
                   .metric = "largest batch in the memory of a step in float, over its batch",
                   .rule = at_least(2),
                   .kind = ClaimKind::exact};

/// Bytes of a step's tensors by kind, in float and in mixed precision.
struct Bytes {
  double parameters = 0, copies = 0, gradients = 0, moments = 0, activations = 0, activation_gradients = 0,
         rest = 0;
  double all() const {
    return parameters + copies + gradients + moments + activations + activation_gradients + rest;
  }
};

/// Classifies tensors by their names in the step.
Bytes bytes_in(const Config& c, double of_value) {
  Memory memory;
  const TrainStep step(memory, c, 1, {.views = 1, .pixels = 1, .depth = false}, {});
  Bytes b;
  const auto is = [](const std::string& name, std::initializer_list<const char*> parts) {
    return std::ranges::any_of(parts, [&](const char* p) { return name.find(p) != std::string::npos; });
  };
  for (const Memory::Tensor& t : memory.tensors()) {
    const auto bytes = double(t.bytes());
    const bool parameter = t.name == "table" || t.name == "density" || t.name == "color";
    const bool of_batch = !t.columns.is_fixed();
    if (is(t.name, {".m", ".v", ".steps", ".average"}))
      b.moments += bytes;
    else if (parameter && !of_batch && t.rows == 1)
      b.parameters += bytes, b.copies += bytes / 4 * (of_value < 4 ? of_value : 0);
    else if (t.name.starts_with("d_") && !of_batch)
      b.gradients += bytes;
    else if (t.name.starts_with("d_"))
      b.activation_gradients += bytes / 4 * of_value;
    else if (of_batch && is(t.name, {"features", "geometry", "color input", "rgb"}))
      b.activations += bytes / 4 * of_value;
    else
      b.rest += bytes;
  }
  return b;
}

Outcome run_memory(uint64_t) {
  Outcome out{
      .heads = {"bytes of", "float, MB", "mixed, MB"}, .x = "samples in a batch", .y = "MB", .log_x = true};
  const Config config;
  const Bytes full = bytes_in(config, 4), half = bytes_in(config, 2);
  const auto row = [&](const char* name, double Bytes::*member) {
    out.rows.push_back(
        {name, fmt::format("{:.1f}", full.*member * 1e-6), fmt::format("{:.1f}", half.*member * 1e-6)});
  };
  row("parameters, the masters", &Bytes::parameters);
  row("their copies of 16 bits", &Bytes::copies);
  row("their gradients, added up in float", &Bytes::gradients);
  row("moments and averages", &Bytes::moments);
  row("activations", &Bytes::activations);
  row("gradients of activations", &Bytes::activation_gradients);
  row("rays, places, grid", &Bytes::rest);
  out.rows.push_back(
      {"all", fmt::format("{:.1f}", full.all() * 1e-6), fmt::format("{:.1f}", half.all() * 1e-6)});
  Curve floats{"float", {}}, mixed{"mixed", {}};
  // samples per batch in mixed precision that need as much memory as the usual batch in float
  double most = 0;
  for (double times = 0.125; times <= 8; times *= 2) {
    Config c = config;
    c.batch_samples = int64_t(times * double(config.batch_samples));
    floats.points.emplace_back(c.batch_samples, bytes_in(c, 4).all() * 1e-6);
    mixed.points.emplace_back(c.batch_samples, bytes_in(c, 2).all() * 1e-6);
  }
  for (double times = 0.5; times < 4; times += 0.01) {
    Config c = config;
    c.batch_samples = int64_t(times * double(config.batch_samples));
    if (bytes_in(c, 2).all() <= full.all()) most = times;
  }
  const int64_t numbers = int64_t(full.parameters / 4);
  const double stored =
      double(stored_bytes(numbers, Storage::f16)) / double(stored_bytes(numbers, Storage::f32));
  out.decided = {
      decide(kHalved, half.all() / full.all(),
             fmt::format(
                 "{:.0f} % of it stay: activations and their gradients are halved, {:.0f} % of the bytes "
                 "in float; masters, moments and "
                 "the table's gradient are not, and copies of the masters come to them",
                 100 * half.all() / full.all(),
                 100 * (full.activations + full.activation_gradients) / full.all())),
      decide(kModel, stored,
             fmt::format("{:.0f} % of the parameters' bytes: a stored model has no masters", 100 * stored)),
      decide(kBatch, most,
             fmt::format("{:.2f} times the batch fits into what float takes for {} samples", most,
                         config.batch_samples))};
  out.curves = {floats, mixed};
  return out;
}

const ExperimentRegistrar of_memory({"mixed_memory",
                                     "Which bytes of a training half precision halves",
                                     run_memory,
                                     nullptr,
                                     {kHalved, kModel, kBatch}});

}  // namespace
}  // namespace klab::learning::mixed_experiment
