// Training a classifier: batches in, steps out, and how well it does on examples it has not seen.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/program/loss_scale.h"
#include "labs/learning/data/loader.h"
#include "labs/learning/network/checkpoint.h"
#include "labs/learning/network/loss.h"
#include "labs/learning/network/module.h"
#include "labs/learning/network/optimizer.h"

namespace klab::learning {

struct TrainerSettings {
  std::string model = "cnn";
  std::string schedule = "onecycle";
  OptimizerSettings optimizer;
  LoaderSettings loader;
  int64_t epochs = 12;
  /// Activations, gradients and the weights of matrices and kernels; masters, moments, biases, what normalization learns, and
  /// the loss are floats.
  Precision precision = Precision::f32;
  LossScaleSettings loss_scale;  // f16's and bf16's; f32 has none
  /// A batch goes through the network in so many parts, whose gradients are added up: as much less memory for what lies between
  /// layers. Layers that look at a batch as a whole see a part.
  int64_t accumulate = 1;
  /// Every so many layers' outputs are kept for the backward, the others computed again; 1 keeps all.
  int64_t recompute = 1;
  uint64_t seed = 1;
};

struct Evaluation {
  double loss = 0;
  int64_t right = 0;
  std::vector<int32_t> predicted;  // of each example
  std::vector<int64_t> confusion;  // [classes,classes], row: what it is, column: what it was taken for
  double accuracy() const { return predicted.empty() ? 0 : double(right) / double(predicted.size()); }
};

class Trainer {
 public:
  /// Throws std::invalid_argument for a model, an optimizer or a schedule that there is none of, for a layer that does not fit
  /// the examples, for a batch larger than the set, and for parts that do not divide the batch. The data set must outlive it.
  Trainer(const Dataset& data, const TrainerSettings& settings);

  /// The calls that a plan must know, and the plan to go on with.
  std::vector<PlannedCall> calls() const;
  void use(const Plan& plan) { plan_ = plan; }

  /// Returns the batch's loss. Throws std::runtime_error when that is not finite: in f32 at once, else after kMostSkipped
  /// skipped steps in a row.
  double step();
  Evaluation evaluate(const Examples& examples);

  static constexpr int64_t kMostSkipped = LossScale::kMostSkipped;
  const LossScale& loss_scale() const { return loss_scale_; }
  /// What rounding has done to gradients since the trainer was made.
  const Lost& lost() const { return lost_; }
  /// Step and scale, wherever the scale changed.
  const std::vector<std::pair<int64_t, double>>& scales() const { return scales_; }

  int64_t steps_done() const { return step_; }
  int64_t steps() const { return settings_.epochs * loader_.steps_per_epoch(); }
  int64_t steps_per_epoch() const { return loader_.steps_per_epoch(); }
  Network& network() { return *network_; }
  Profile& profile() { return profile_; }
  const TrainerSettings& settings() const { return settings_; }

  /// With all that it takes to go on as if nothing had been; `words` are kept beside it.
  void save(const std::filesystem::path& file, std::map<std::string, std::string> words);
  /// Throws as load_network() for a checkpoint of another model, data set, batch size, seed or optimizer.
  void restore(const std::filesystem::path& file, std::map<std::string, std::string>& words);

 private:
  std::map<std::string, std::string> identity() const;
  bool mixed() const { return settings_.precision != Precision::f32; }
  double loss_and_gradient(const Batch& batch);
  Pass pass_of(int64_t part);
  bool finite_and_unscaled(const Pass& pass);
  void round_weights();

  TrainerSettings settings_;
  const Dataset& data_;
  Scale scale_;
  std::unique_ptr<Network> network_;
  Optimizer optimizer_;
  CrossEntropy loss_;
  Loader loader_;
  Plan plan_;
  Profile profile_;
  int64_t step_ = 0;
  LossScale loss_scale_;
  Lost lost_;
  std::vector<std::pair<int64_t, double>> scales_;
  Array<float> masters_;  // of what decays: matrices and kernels; empty in f32
  Array<float> sums_[2];  // of the parts' gradients, by group; empty where there is one part
};

}  // namespace klab::learning
