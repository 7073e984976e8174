// Trains a classifier: takes batches, makes steps, and evaluates on unseen examples.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/program/loss_scale.h"
#include "harness/program/run_ops.h"
#include "labs/learning/data/loader.h"
#include "labs/learning/network/checkpoint.h"
#include "labs/learning/network/step.h"
#include "labs/learning/train/pipeline.h"
#include "labs/learning/train/rank_sums.h"

namespace klab::learning {

struct TrainerSettings {
  std::string model = "cnn";               // a name, or a line of layers (network/network_line.h)
  std::string initialization = "kaiming";  // or he, which is the same, or xavier
  std::string schedule = "onecycle";
  OptimizerSettings optimizer;
  LoaderSettings loader;
  int64_t epochs = 12;
  /// Applies to activations, gradients, and the weights of matrices and kernels. Masters, moments, biases,
  /// the parameters of normalization, and the loss are floats.
  Precision precision = Precision::f32;
  LossScaleSettings loss_scale;  // for f16 and bf16; f32 has none
  /// A batch passes through the network in this many parts, whose gradients are summed. The memory between
  /// layers shrinks by this factor. Layers that use statistics of a batch see only a part.
  int64_t accumulate = 1;
  /// Keeps every recompute-th layer's output for the backward and recomputes the others; 1 keeps all.
  int64_t recompute = 1;
  /// Each of several ranks holds some of the layers, and the parts of a batch pass through them (train/pipeline.h).
  bool split_layers = false;
  uint64_t seed = 1;
  std::optional<Scale> scale;  // of the examples' numbers; not given: that of those to learn from
};

struct Evaluation {
  double loss = 0;
  int64_t right = 0;
  std::vector<int32_t> predicted;  // by example
  std::vector<int64_t> confusion;  // [classes,classes], row: true class, column: predicted class
  double accuracy() const { return predicted.empty() ? 0 : double(right) / double(predicted.size()); }
};

/// A network whose outputs a student learns, built for the batches of the student's passes, and how its examples are scaled.
struct Teacher {
  Network* network = nullptr;
  double mean = 0, deviation = 1;
  double softening = 4;  // by which outputs are divided before the softmax, of both
};

/// A network and its step in the memory of the host, for files: that of all ranks where layers are split.
struct WholeTraining {
  std::unique_ptr<Network> network;
  std::unique_ptr<Step> step;
};

/// The loss of a step is not finite, so parameters may not be, either.
struct NotFinite : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Trainer {
 public:
  /// Throws std::invalid_argument for an unknown model, optimizer or schedule, for a layer that does not fit
  /// the examples, for a batch larger than the set, for parts that do not divide the batch, and for settings that a split
  /// network does not have. The data set must outlive the trainer. Where a carrier connects several ranks, each of them computes an equal part of every batch, and the
  /// steps are those of one process with as many times the parts. Collective functions are called by every rank.
  Trainer(const Dataset& data, const TrainerSettings& settings, const Backend& backend = cpu_backend(),
          const Carrier& carrier = {});

  /// Returns the calls that a plan must cover; use() sets the plan.
  std::vector<PlannedCall> calls() const;
  void use(const Plan& plan) { plan_ = plan; }
  /// Learns a teacher's outputs in place of the labels. The teacher must outlive the trainer, and its calls are among calls().
  /// Throws std::invalid_argument if it takes other batches, other examples or has other classes.
  void learn_from(const Teacher& teacher);

  /// Collective: takes a step and returns the batch's loss. If that is not finite, it throws NotFinite in f32, when the parameters may
  /// have moved already, and std::runtime_error in fewer bits, after kMostSkipped skipped steps in a row.
  double step();
  /// Collective: each rank evaluates a part of the examples, and all get the whole result.
  Evaluation evaluate(const Examples& examples);
  /// Multiplies the learning rates of all steps to come.
  void scale_rates(double factor) { rate_factor_ = factor; }

  static constexpr int64_t kMostSkipped = LossScale::kMostSkipped;
  const LossScale& loss_scale() const { return loss_scale_; }
  /// Returns statistics of rounding gradients since the trainer was created.
  const Lost& lost() const { return lost_; }
  /// Returns step and scale for each change of the scale.
  const std::vector<std::pair<int64_t, double>>& scales() const { return scales_; }

  int64_t steps_done() const { return step_; }
  int64_t steps() const { return settings_.epochs * loader_.steps_per_epoch(); }
  int64_t steps_per_epoch() const { return loader_.steps_per_epoch(); }
  Network& network() { return *network_; }
  Profile& profile() { return profile_; }
  const HostCounts& host_counts() { return program_.memory().counts(); }
  const TrainerSettings& settings() const { return settings_; }

  /// Collective: the first rank saves everything needed to resume without a difference; `words` are stored with it.
  void save(const std::filesystem::path& file, std::map<std::string, std::string> words);
  /// Collective: the first rank writes the network alone.
  void save_model(const std::filesystem::path& file, const std::map<std::string, std::string>& words);
  /// Returns which layers this rank has, by name: all, unless they are split.
  std::string own_layers() const;
  /// Takes over the numbers of a model of the same layers, whose moments are at 0. Throws as load_network() does.
  void begin_from(const std::filesystem::path& model);
  /// Restores a checkpoint. Throws as load_network() does for one of another model, data set, batch size,
  /// seed or optimizer.
  void restore(const std::filesystem::path& file, std::map<std::string, std::string>& words);

 private:
  std::map<std::string, std::string> identity() const;
  bool mixed() const { return settings_.precision != Precision::f32; }
  double loss_and_gradient(const Batch& batch, bool late);
  double step_of_split();
  void require_finite(double loss) const;
  std::unique_ptr<Network> built(const Backend& backend);
  WholeTraining whole_training() const;
  std::unique_ptr<WholeTraining> whole();
  void take_own(WholeTraining& whole);
  /// Returns by how many ranks a batch is shared; split layers see all of it.
  int64_t sharing() const { return settings_.split_layers ? 1 : ranks_.size(); }
  double mean_over_ranks(double loss);
  /// Replaces running averages by their mean over the ranks, since each has seen its own parts of batches only.
  void average_running();
  double taught_gradient(const float* values, bool last);
  void run(const std::string& program, const RunOps::Body& body) { ops_.run(program, plan_, profile_, body); }

  TrainerSettings settings_;
  RankSums ranks_;
  const Dataset& data_;
  Scale scale_;
  std::vector<PlannedCall> whole_calls_;  // of a network that is split
  std::unique_ptr<Network> network_;
  Step program_;
  std::unique_ptr<LayerPipeline> pipeline_;
  RunOps ops_;
  Teacher teacher_;  // without a network: labels are learned
  Loader loader_;
  Plan plan_;
  Profile profile_;
  double rate_factor_ = 1;
  int64_t step_ = 0,
          averaged_ = -1;  // averaged_: the step at which running averages were the same on all ranks
  LossScale loss_scale_;
  Lost lost_;
  std::vector<std::pair<int64_t, double>> scales_;
};

}  // namespace klab::learning
