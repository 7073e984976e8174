// Which tensors of a radiance field need floats: one kind at a time in each format, during the whole
// training.
#include <fmt/format.h>

#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/experiments/small_field.h"

namespace klab::learning::sensitivity_experiment {
namespace {

const Claim kThroughout{
    .id = "sensitivity.halves",
    .said = "a field can be trained in half precision throughout, with float masters and moments",
    .source = "paper",
    .metric = "dB lost",
    .rule = at_most(0.3)};
const Claim kMoments{.id = "sensitivity.moments",
                     .said = "Adam's moments may be halves, too",
                     .source = "plan",
                     .metric = "dB lost, 100 where no step is finite",
                     .rule = at_most(0.3)};
const Claim kEight{.id = "sensitivity.eight_bits",
                   .said = "eight bits are enough for what a field stores between steps",
                   .source = "paper",
                   .metric = "dB lost as e4m3, 100 where no step is finite",
                   .rule = at_most(0.3),
                   .on = "the kind of tensor"};

constexpr int64_t kSteps = 150;

struct Kind {
  const char* name;
  const NarrowFormat* StepFormats::*member;
};
constexpr Kind kKinds[] = {
    {"table", &StepFormats::table},          {"density matrices", &StepFormats::density},
    {"color matrices", &StepFormats::color}, {"activations", &StepFormats::activations},
    {"gradients", &StepFormats::gradients},  {"moments", &StepFormats::moments}};
constexpr std::array kFormats = {&kBf16, &kF16, &kE5m2, &kE4m3};

std::string loss_text(double lost) {
  return std::isnan(lost) ? "no finite step" : fmt::format("{:+.2f} dB", -lost);
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"in fewer bits"}, .x = "kind of tensor, in the table's order", .y = "dB lost"};
  const SmallField field(seed);
  const double floats = field.psnr_of(kSteps, {});
  std::map<std::string, std::map<std::string, double>> lost;
  for (const NarrowFormat* f : kFormats)
    out.heads.emplace_back(f->name), out.curves.push_back({std::string(f->name), {}});
  double at = 0;
  for (const Kind& kind : kKinds) {
    std::vector<std::string> row = {kind.name};
    at += 1;
    for (size_t i = 0; i < kFormats.size(); ++i) {
      StepFormats formats;
      formats.*kind.member = kFormats[i];
      // Gradients are scaled as in training, so that the format's range is used.
      const double now =
          field.psnr_of(kSteps, formats.gradients != nullptr ? with_dynamic_scale(formats)
                                                             : StepPrecision{.formats = formats});
      const double off = floats - now;
      lost[kind.name][std::string(kFormats[i]->name)] = off;
      row.push_back(loss_text(off));
      if (!std::isnan(off)) out.curves[i].points.emplace_back(at, off);
    }
    out.rows.push_back(row);
  }
  StepFormats all = half_formats();
  all.table = &kF16;
  const double halves = floats - field.psnr_of(kSteps, with_dynamic_scale(all));
  out.rows.push_back({"all but masters and moments", "", loss_text(halves), "", ""});
  const double moments = lost["moments"]["f16"],
               others = std::max({lost["table"]["f16"], lost["density matrices"]["f16"],
                                  lost["color matrices"]["f16"], lost["activations"]["f16"],
                                  lost["gradients"]["f16"]});
  const auto finite = [](double off) { return std::isnan(off) ? 100 : off; };
  out.decided = {
      decide(kThroughout, finite(halves),
             fmt::format("{:.2f} dB in float; {} with table, matrices, activations and gradients as "
                         "halves, at most {:.2f} dB for "
                         "one of them, after {} steps",
                         floats, loss_text(halves), others, kSteps)),
      decide(kMoments, finite(moments),
             fmt::format("{}: squares of gradients below 2^-12 are below the smallest half, 2^-24, so a "
                         "step divides by 0 and "
                         "epsilon; bf16, which has float's range, gives {}",
                         loss_text(moments), loss_text(lost["moments"]["bf16"]))),
      decide(kEight,
             {{"the table", {finite(lost["table"]["e4m3"])}},
              {"activations", {finite(lost["activations"]["e4m3"])}},
              {"gradients", {finite(lost["gradients"]["e4m3"])}}},
             fmt::format("as e4m3 without a scale of its own the table gives {}, activations {}, and "
                         "gradients with the loss's scale {}: a "
                         "table begins at 1e-4, and the smallest e4m3 is 2e-3",
                         loss_text(lost["table"]["e4m3"]), loss_text(lost["activations"]["e4m3"]),
                         loss_text(lost["gradients"]["e4m3"])))};
  return out;
}

const ExperimentRegistrar registrar(
    {"sensitivity",
     "A radiance field trained with one kind of tensor at a time in fewer bits",
     run,
     nullptr,
     {kThroughout, kMoments, kEight}});

}  // namespace
}  // namespace klab::learning::sensitivity_experiment
