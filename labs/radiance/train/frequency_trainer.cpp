#include "labs/radiance/train/frequency_trainer.h"
#include "labs/radiance/field/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/program/carried_backend.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/train/batch.h"

namespace klab {
namespace {

constexpr const char* kNames[] = {"coarse", "fine"};

/// Returns the config of one part of the batch.
FrequencyConfig of_a_part(FrequencyConfig config, const BatchShare& share) {
  config.rays = std::max<int64_t>(1, config.rays / share.parts);
  return config;
}

}  // namespace
namespace {

enum Drawn { origins, directions, backdrop, target };

}  // namespace

FrequencyTrainer::FrequencyTrainer(const Scene& scene, const FrequencyConfig& config, const Plan& plan,
                                   uint64_t seed, BatchShare share, const Backend& backend)
    : share_(std::move(share)),
      config_(of_a_part(config, share_)),
      plan_(plan),
      seed_(seed),
      model_(config, placement_of(with_views(scene), config.background == "black", config.near, config.far)),
      memory_(backend),
      ops_(memory_),
      arrays_(carried_backend(backend)),
      calls_(arrays_),
      learning_(arrays_, config_, model_.placement),
      view_data_(view_data_of(scene)),
      views_(declare_views(memory_, view_data_)) {
  model_.initialize(seed);
  for (size_t k = 0; k < 2; ++k) {
    const int64_t n = model_.parameters[k].size();
    moments_[k] = OptimizerState(n, n);
  }
  sums_ = PartSums(share_, std::array{moments_[0].gradient.size(), moments_[1].gradient.size()});
  numbers_ = memory_.tensor<int32_t>("numbers", 1, int64_t(sizeof(StepNumbers) / sizeof(int32_t)));
  const auto of_rays = [&](const char* name, int64_t rows) {
    return memory_.tensor<float>(name, rows, config_.rays);
  };
  rays_ = {.rays = config_.rays,
           .origins = of_rays("origins", 3),
           .directions = of_rays("directions", 3),
           .jitter = of_rays("jitter", 1),
           .backdrop = of_rays("backdrop", 3),
           .color = of_rays("target", 3),
           .depth = of_rays("target depth", 1)};
  const Handle<float>* const kept[] = {&rays_.origins, &rays_.directions, &rays_.backdrop, &rays_.color};
  for (size_t k = 0; k < drawn_.size(); ++k) {
    drawn_[k] = Array<float>(3 * config_.rays);
    memory_.mirror(*kept[k], drawn_[k].data());
  }
  const ViewLoader loader(scene, views_);
  loader.tie(memory_);
  memory_.allocate();
  arrays_.allocate();
  loader.write(memory_);
}

int64_t FrequencyTrainer::bytes_of(const FrequencyConfig& c) {
  return FrequencyPasses::bytes_of(c) + 2 * 16 * FrequencyNet(c).size + 60 * c.rays;
}

double FrequencyTrainer::loss_and_gradient() {
  StepNumbers n;
  n.seed[0] = uint32_t(seed_);
  n.seed[1] = uint32_t(seed_ >> 32);
  n.step[0] = uint32_t(draws_of(step_, part_));
  n.step[1] = uint32_t(draws_of(step_, part_) >> 32);
  n.rays = int32_t(config_.rays);
  memory_.write(numbers_, &n, sizeof n);
  ops_.run("rays", plan_, profile_, [&](Ops& ops) {
    draw_rays(ops, {config_.background, config_.pixel_point}, view_data_, views_, numbers_, rays_);
  });
  for (const Handle<float>* tensor : {&rays_.origins, &rays_.directions, &rays_.backdrop, &rays_.color})
    memory_.pull(*tensor);
  std::optional<Draws> draws;  // without them samples lie in the middle of their strata
  if (config_.samples == "stratified") draws.emplace(seed_, draws_of(step_, part_), 300);
  FrequencyStep::Losses losses;
  calls_.run("loss", plan_, profile_, [&](Ops& ops) {
    losses = learning_.loss_and_gradient(ops, model_,
                                         {drawn_[origins].data(), drawn_[directions].data(),
                                          drawn_[backdrop].data(), drawn_[target].data(), config_.rays},
                                         draws, {moments_[0].gradient.data(), moments_[1].gradient.data()});
  });
  squares_ = losses.squares / double(3 * config_.rays);
  term_losses_ = losses.terms;
  double loss = losses.loss;
  for (const double term : term_losses_) loss += term;
  if (!std::isfinite(loss)) throw NotFinite(fmt::format("step {}: the loss is not finite", step_));
  return loss;
}

double FrequencyTrainer::shared_loss_and_gradient() {
  std::array<double, 2 + kLossTerms> sums = {};
  std::array<SharedGradient, 2> gradients;
  for (size_t k = 0; k < 2; ++k)
    gradients[k].values = {moments_[k].gradient.data(), size_t(moments_[k].gradient.size())};
  sums_.begin();
  for (int64_t i = 0; i < share_.own; ++i) {
    part_ = share_.first + i;
    sums[0] += loss_and_gradient();
    sums[1] += squares_;
    for (size_t k = 0; k < kLossTerms; ++k) sums[2 + k] += term_losses_[k];
    sums_.keep(gradients);
  }
  part_ = 0;
  if (share_.parts > 1) profile_.time("sum over ranks", [&] { sums_.finish(share_, gradients, sums); });
  for (size_t k = 0; k < kLossTerms; ++k) term_losses_[k] = sums[2 + k] / double(share_.parts);
  psnr_ = -10 * std::log10(std::max(sums[1] / double(share_.parts), 1e-12));
  return sums[0] / double(share_.parts);
}

void FrequencyTrainer::begin_from(const FrequencyModel& model) {
  for (size_t k = 0; k < 2; ++k) std::ranges::copy(model.parameters[k], model_.parameters[k].begin());
}

std::vector<std::span<const float>> FrequencyTrainer::parameters() const {
  std::vector<std::span<const float>> all;
  for (const Array<float>& p : model_.parameters) all.emplace_back(p.data(), size_t(p.size()));
  return all;
}

StepReport FrequencyTrainer::step(double progress) {
  StepReport report;
  report.loss = shared_loss_and_gradient();
  report.terms = term_losses_;
  rate_ = rate_factor_ * config_.learning_rate * cosine_to(config_.final_rate, progress);
  AdamSettings adam{
      .learning_rate = rate_, .beta1 = config_.beta1, .beta2 = config_.beta2, .epsilon = config_.epsilon};
  if (std::exchange(measures_gradient_, false)) {
    double squares = 0;
    for (const OptimizerState& m : moments_)
      squares += squares_of({m.gradient.data(), size_t(m.gradient.size())});
    report.gradient_norm = report.clipped_norm = std::sqrt(squares);
  }
  for (int k = 0; k <= learning_.passes().last(); ++k) {
    OptimizerState& m = moments_[size_t(k)];
    for (const float g : m.gradient)
      if (!std::isfinite(g))
        throw NotFinite(fmt::format("step {}: the gradient of the {} network is not finite", step_,
                                    k == 0 ? "coarse" : "fine"));
    const auto n = model_.parameters[size_t(k)].size();
    calls_.run(kNames[k], plan_, profile_,
               [&](Ops& ops) { adam_step(ops, adam, n, model_.parameters[size_t(k)], m); });
  }
  report.rays = config_.rays * share_.parts;
  report.samples = report.marched =
      report.rays * (config_.coarse + (learning_.passes().last() == 1 ? config_.coarse + config_.fine : 0));
  report.step = ++step_;
  return report;
}

void FrequencyTrainer::save(const std::filesystem::path& file,
                            const std::map<std::string, std::string>& extra) const {
  std::map<std::string, std::string> metadata = model_.metadata();
  metadata.insert(extra.begin(), extra.end());
  metadata["trainer"] = nlohmann::json{{"step", step_}, {"seed", seed_}}.dump();
  std::vector<TensorView> list = model_.tensors();
  for (size_t k = 0; k < 2; ++k)
    for (const TensorView& t : moment_tensors(kNames[k], moments_[k])) list.push_back(t);
  save_tensors(file, list, metadata);
}

void FrequencyTrainer::restore(const TensorFile& file) {
  const std::string where = file.path().string() + ", its trainer state";
  const nlohmann::json saved = parse_json(file.metadata("trainer"), where);
  const auto step = number_in<int64_t>(saved, "step", {0, range::steps.high}, where);
  const auto seed = number_in<uint64_t>(saved, "seed", range::seed, where);
  for (const TensorView& t : model_.tensors()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  for (size_t k = 0; k < 2; ++k) {
    for (const TensorView& t : moment_tensors(kNames[k], moments_[k]))
      file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
    moments_[k].require_plausible(step, where);
    std::fill(moments_[k].gradient.begin(), moments_[k].gradient.end(), 0.0F);
  }
  step_ = step;
  seed_ = seed;
}

}  // namespace klab
