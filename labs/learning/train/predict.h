// A trained network put to use: classes and probabilities of pictures, and the score of a saved model on a data set.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/program/plan.h"
#include "harness/program/run_ops.h"
#include "labs/learning/data/dataset.h"
#include "labs/learning/network/step.h"
#include "labs/learning/train/trainer.h"

namespace klab::learning {

/// Returns what model.safetensors says of a network, so that it can be built again: the layers' name, the form of its examples,
/// the classes, and how numbers were scaled before the first layer.
std::map<std::string, std::string> words_of_model(const Dataset& data, const TrainerSettings& settings);

/// One picture's probabilities, by class.
struct Prediction {
  std::vector<float> probabilities;
  int64_t best() const;
};

class Classifier {
 public:
  /// Reads a run's folder, or its model.safetensors, for batches of at most `batch`: half as many each time that they need more than
  /// `most` bytes (0: any number) or an allocation fails. Throws std::runtime_error that names file, field and remedy: a model of
  /// before this could be read, another layout, a cut file, no memory for a single example.
  Classifier(const std::filesystem::path& run, int64_t batch, const Backend& backend = cpu_backend(),
             int64_t most = 0);

  const std::string& model() const { return model_; }
  const std::string& data() const { return data_; }
  const Dims& dims() const { return dims_; }  // of one example
  int64_t classes() const { return network_->out().at(0); }
  std::string class_name(int64_t label) const;

  /// Returns how many examples a pass takes.
  int64_t batch() const { return network_->batch(); }
  Network& network() { return *network_; }
  double mean() const { return double(mean_); }  // subtracted from every number, which is then divided
  double deviation() const { return double(deviation_); }  // by this
  std::vector<PlannedCall> calls() const { return network_->calls(); }
  void use(const Plan& plan) { plan_ = plan; }

  /// Returns the probabilities of `count` examples, [count,dims], images in [0,1]. They go through the network in batches.
  std::vector<Prediction> predict(const float* values, int64_t count);
  /// Throws std::invalid_argument if the examples have another form or more classes.
  Evaluation evaluate(const Examples& examples);

  /// Reads a picture as one example. Throws std::invalid_argument that names the file where its size or its channels are others
  /// than the model's (a picture whose colors are all gray has one channel).
  std::vector<float> read_picture(const std::filesystem::path& file) const;

 private:
  std::string model_, data_;
  Dims dims_;
  std::vector<std::string> names_;
  float mean_ = 0, deviation_ = 1;
  std::unique_ptr<Network> network_;
  std::unique_ptr<RunOps> ops_;
  Plan plan_;
  Profile profile_;
};

struct PredictOptions {
  std::filesystem::path run;          // a run's folder or its model
  std::vector<std::string> pictures;  // files; "-": names on standard input, each answered at once
  std::string evaluate;               // a data set to score the model on, instead
  std::string plan = "naive";         // naive, best, or a file
  int64_t batch = 0;                  // examples a pass; 0: kUsualBatch, or fewer where memory is short
  int64_t memory = 0;                 // most bytes of the network and its passes; 0: any number
  static constexpr int64_t kUsualBatch = 16;
  int64_t test = 0;  // with `evaluate`: number of examples, 0: all
  uint64_t seed = 1;
  bool json = false, csv = false;
  Backend backend = cpu_backend();  // where the network runs
  std::string rungs = "cpu";        // "cpu" or "cuda": the rungs that run there
};

/// Implements klab classify --predict and --evaluate. Returns the exit code.
int predict(const PredictOptions& options);

}  // namespace klab::learning
