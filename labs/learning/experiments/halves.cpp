// A network split into two parallel halves: its number of parameters, and the time of a step.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "harness/program/measure_ops.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "reference/axpy/axpy.h"

namespace klab::learning::halves_experiment {
namespace {

const Claim kDoubles{.id = "halves.parameters",
                     .said = "splitting a model in two parallel halves doubles its parameters",
                     .source = "plan",
                     .metric = "parameters of both halves over those of the whole",
                     .rule = at_least(1.9),
                     .kind = ClaimKind::exact};
const Claim kFaster{.id = "halves.speed",
                    .said = "splitting a model in two parallel halves speeds it up",
                    .source = "plan",
                    .metric = "time of a step of the whole over that of the two",
                    .rule = at_least(1.05),
                    .kind = ClaimKind::timed,
                    .on = "what the two are"};

constexpr int64_t kBatch = 64, kWidth = 512, kTrainSteps = 300;

/// Branches with the same input, whose logits are added.
class Branches {
 public:
  Branches(int64_t count, int64_t width, const Examples& examples, uint64_t seed)
      : scale_(scale_of(examples)),
        loader_(examples, {.batch = kBatch, .seed = seed}, scale_.mean, scale_.deviation) {
    for (int64_t i = 0; i < count; ++i) {
      auto net = std::make_unique<Network>(examples.dims);
      net->add<Linear>("linear1", width).add<Activation>("relu1", activation::relu);
      net->add<Linear>("linear2", width).add<Activation>("relu2", activation::relu);
      net->add<Linear>("output", examples.classes);
      net->build(kBatch, seed + uint64_t(i));
      steps_.push_back(std::make_unique<Step>(*net, StepSettings{.optimizer = {.rate = 1e-3}}));
      steps_.back()->write_rate(1);
      nets_.push_back(std::move(net));
    }
    MeasureOps measured(steps_[0]->memory());
    learn(measured);
    plan_ = untimed_plan(measured.calls());
    ops_ = std::make_unique<RunOps>(steps_[0]->memory());
  }

  int64_t parameters() const {
    int64_t n = 0;
    for (const auto& net : nets_) n += net->parameters().count();
    return n;
  }
  double step() {
    const Batch& batch = loader_.at(step_);
    write(batch.values.data());
    steps_[0]->write(batch.values.data(), batch.labels.data(), 1, uint64_t(step_++));
    ops_->run("step", plan_, profile_, [&](Ops& ops) { learn(ops); });
    return steps_[0]->mean_loss();
  }
  double accuracy(const Examples& test) {
    const int64_t size = volume(test.dims);
    Array<float> x(kBatch * size);
    int64_t right = 0, all = 0;
    for (int64_t begin = 0; begin + kBatch <= test.count(); begin += kBatch) {
      for (int64_t i = 0; i < x.size(); ++i)
        x[i] = (test.values[size_t(begin * size + i)] - float(scale_.mean)) / float(scale_.deviation);
      write(x.data());
      ops_->run("forward", plan_, profile_, [&](Ops& ops) { forward(ops); });
      const std::vector<float> logits = nets_[0]->outputs();
      for (int64_t i = 0; i < kBatch; ++i, ++all) {
        const float* row = logits.data() + i * test.classes;
        right += std::max_element(row, row + test.classes) - row == test.labels[size_t(begin + i)];
      }
    }
    return double(right) / double(all);
  }

 private:
  void write(const float* x) {
    for (const auto& net : nets_) net->write(x);
  }
  /// Programs: the sum of the logits in the place of the first branch's; a step.
  void forward(Ops& ops) const {
    const Handle<float>& sum = nets_[0]->output();
    for (const auto& net : nets_) {
      net->forward({ops});
      if (net != nets_[0])
        ops.call<Axpy>({kBatch * volume(net->out())}, {.a = steps_[0]->one(), .x = net->output(), .y = sum});
    }
  }
  void learn(Ops& ops) const {
    forward(ops);
    steps_[0]->loss(ops);
    for (const auto& net : nets_) net->backward({ops}, steps_[0]->d_logits());
    for (const auto& step : steps_) step->update(ops);
  }

  Scale scale_;
  Loader loader_;
  std::vector<std::unique_ptr<Network>> nets_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::unique_ptr<RunOps> ops_;
  Plan plan_;
  Profile profile_;
  int64_t step_ = 0;
};

/// Returns each network's shortest round, with rounds interleaved: other programs only add time.
std::vector<double> step_times(std::vector<std::unique_ptr<Branches>>& all) {
  constexpr int kRounds = 9, kSteps = 8;
  std::vector<double> shortest(all.size(), 1e9);
  for (int round = 0; round < kRounds; ++round)
    for (size_t k = 0; k < all.size(); ++k) {
      const auto begin = std::chrono::steady_clock::now();
      for (int s = 0; s < kSteps; ++s) all[k]->step();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      shortest[k] = std::min(shortest[k], took.count() / kSteps);
    }
  return shortest;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"network", "parameters", "a step", "right in the test"},
              .x = "thousands of parameters",
              .y = "a step, ms"};
  const Examples train = make_glyphs(3000, seed), test = make_glyphs(1000, seed + 1);
  const char* names[] = {"one, 512 wide", "two halves, 256 wide", "two of 512"};
  std::vector<std::unique_ptr<Branches>> all;
  all.push_back(std::make_unique<Branches>(1, kWidth, train, seed));
  all.push_back(std::make_unique<Branches>(2, kWidth / 2, train, seed));
  all.push_back(std::make_unique<Branches>(2, kWidth, train, seed));
  const std::vector<double> seconds = step_times(all);
  for (size_t k = 0; k < all.size(); ++k) {
    for (int64_t s = 0; s < kTrainSteps; ++s) all[k]->step();
    out.curves.push_back({names[k], {{double(all[k]->parameters()) / 1000, 1000 * seconds[k]}}});
    out.rows.push_back({names[k], std::to_string(all[k]->parameters()),
                        fmt::format("{:.2f} ms", 1000 * seconds[k]), percent_text(all[k]->accuracy(test))});
  }
  const auto parameters = [&](size_t k) {
    return double(all[k]->parameters()) / double(all[0]->parameters());
  };
  const double faster = seconds[0] / seconds[1], slower = seconds[2] / seconds[0];
  out.decided = {
      decide(kDoubles, parameters(1),
             fmt::format("two halves have {:.2f} of them: what lay between the halves is gone; two copies "
                         "have {:.2f}",
                         parameters(1), parameters(2))),
      decide(
          kFaster, {{"halves", {faster}}, {"copies", {1 / slower}}},
          fmt::format("two halves, with {:.2f} of the multiply-adds, take {:.2f} of the time of one network; "
                      "two copies take {:.2f} of it on the same processor",
                      parameters(1), 1 / faster, slower))};
  return out;
}

const ExperimentRegistrar registrar(
    {"halves", "A network, two parallel halves of it, and two copies", run, nullptr, {kDoubles, kFaster}});

}  // namespace
}  // namespace klab::learning::halves_experiment
