// Half precision without a loss scale: where it breaks a training, and where Adam hides that gradients are
// gone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/program/loss_scale.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/learning/experiments/small_field.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"

namespace klab::learning::scale_one_experiment {
namespace {

const Claim kVisible{
    .id = "scale_one.visible",
    .said = "half precision without a loss scale fails visibly, and with a dynamic one it does not",
    .source = "paper",
    .metric = "share of examples that the dynamic scale has right and scale 1 has not, at most",
    .rule = at_least(0.2)};
const Claim kNeeds{.id = "scale_one.field",
                   .said = "a radiance field in half precision needs a loss scale",
                   .source = "plan",
                   .metric = "dB gained by a dynamic scale over scale 1",
                   .rule = at_least(0.5)};

constexpr int64_t kExamples = 256, kWidth = 64, kSteps = 150, kFieldSteps = 100;

/// Returns a plain network whose matrices have variance 1/(3·inputs), the default of some libraries. Each
/// layer with a ReLU scales values, forward and backward, by 0.41.
std::unique_ptr<Network> plain(const Examples& examples, int64_t depth, uint64_t seed) {
  auto net = std::make_unique<Network>(examples.dims);
  for (int64_t i = 0; i + 1 < depth; ++i)
    net->add<Linear>(fmt::format("linear{}", i), kWidth)
        .add<Activation>(fmt::format("relu{}", i), activation::relu);
  net->add<Linear>("output", examples.classes);
  net->build(examples.count(), seed);
  Parameters::Group& matrices = net->parameters().group(true);
  for (float& w : matrices.values) w *= 0x1p-1F * std::sqrt(2.0F / 3.0F);  // of 2/inputs
  return net;
}

/// The result of a training: fraction of correct examples, and of gradients that became 0.
struct Trained {
  double right = 0, gone = 0;
};

/// Trains with Adam on all examples at once. Activations and gradients are rounded; weights are the masters.
Trained train(const Examples& examples, int64_t depth, Precision precision, const LossScaleSettings& settings,
              uint64_t seed) {
  const auto net = plain(examples, depth, seed);
  Step program(*net, {.optimizer = {.name = "adam", .rate = 2e-3, .decay = 0},
                      .precision = precision,
                      .rounds_weights = false});
  const Plan plan = untimed_plan(program.calls());
  Profile profile;
  RunOps ops(program.memory());
  const auto run = [&](const char* name, const RunOps::Body& body) { ops.run(name, plan, profile, body); };
  LossScale scale(settings);
  Lost lost;
  for (int64_t step = 0; step < kSteps; ++step) {
    program.write(examples.values.data(), examples.labels.data(), seed, uint64_t(step),
                  precision == Precision::f32 ? 1 : scale.value());
    run("gradient", [&](Ops& o) { program.loss_and_gradient(o); });
    const Step::Numbers numbers = program.numbers();
    lost += program.lost();
    if (precision != Precision::f32 && !scale.update(numbers.not_finite == Step::kAllFinite)) continue;
    program.write_rate(1);
    run("update", [&](Ops& o) { program.update(o); });
  }
  run("forward", [&](Ops& o) { program.forward(o, true); });
  const std::vector<float> logits = net->outputs();
  Trained t{.gone = lost.share()};
  for (int64_t i = 0; i < examples.count(); ++i) {
    const float* row = logits.data() + i * examples.classes;
    t.right += double(std::max_element(row, row + examples.classes) - row == examples.labels[size_t(i)]);
  }
  t.right /= double(examples.count());
  return t;
}

/// The radiance field: reports the gradients lost, and that the picture does not show it.
Decided hidden_by_adam(Outcome& out, uint64_t seed) {
  const SmallField field(seed);
  const auto one = field.trained(kFieldSteps, with_static_scale(half_formats(), 1)),
             dynamic = field.trained(kFieldSteps, with_dynamic_scale(half_formats()));
  const double db_one = field.psnr(one->averaged()), db = field.psnr(dynamic->averaged());
  out.rows.push_back({"radiance field", "f16, scale 1", fmt::format("{:.2f} dB", db_one),
                      percent_text(one->lost().share())});
  out.rows.push_back({"radiance field", "f16, dynamic scale", fmt::format("{:.2f} dB", db),
                      percent_text(dynamic->lost().share())});
  return decide(
      kNeeds, db - db_one,
      fmt::format("{:.2f} dB with scale 1, where {} of the gradients become 0, and {:.2f} with a dynamic "
                  "one, where {} do: "
                  "its networks are shallow, so that what vanishes are the small gradients of a "
                  "parameter, and Adam divides the "
                  "others by their own size",
                  db_one, percent_text(one->lost().share()), db, percent_text(dynamic->lost().share())));
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"what", "trained in", "reaches", "gradients that became 0"},
              .x = "layers",
              .y = "share of the examples that are right"};
  Examples examples = make_glyphs(kExamples, seed);
  examples.dims = {volume(examples.dims)};
  const struct {
    const char* name;
    Precision precision;
    LossScaleSettings scale;
  } ways[] = {{"f32", Precision::f32, {}},
              {"f16, scale 1", Precision::f16, {.dynamic = false, .start = 1}},
              {"f16, dynamic scale", Precision::f16, {}}};
  double most = 0, right_one = 0, right_dynamic = 0, gone = 0;
  int64_t at = 0;
  for (const auto& way : ways) out.curves.push_back({way.name, {}});
  for (const int64_t depth : {4, 8, 10, 12, 14}) {
    Trained results[3];
    for (size_t k = 0; k < 3; ++k) {
      results[k] = train(examples, depth, ways[k].precision, ways[k].scale, seed);
      out.curves[k].points.emplace_back(depth, results[k].right);
      out.rows.push_back({fmt::format("{} layers", depth), ways[k].name,
                          percent_text(results[k].right) + " right", percent_text(results[k].gone)});
    }
    const double apart = results[2].right - results[1].right;
    if (at != 0 && apart <= most) continue;
    most = apart, at = depth;
    right_one = results[1].right, right_dynamic = results[2].right, gone = results[1].gone;
  }
  out.decided = {
      decide(kVisible, most,
             fmt::format("a plain network of {} layers, with Adam: {} right with scale 1, where {} of the "
                         "gradients become "
                         "0, and {} with a "
                         "dynamic one; each layer makes gradients 0.41 times as large, and where all of a "
                         "layer's are 0, "
                         "Adam has nothing to divide",
                         at, percent_text(right_one), percent_text(gone), percent_text(right_dynamic))),
      hidden_by_adam(out, seed)};
  return out;
}

const ExperimentRegistrar registrar(
    {"scale_one",
     "Half precision without a loss scale: a deep plain network, and a radiance field",
     run,
     nullptr,
     {kVisible, kNeeds}});

}  // namespace
}  // namespace klab::learning::scale_one_experiment
