// An experiment: what is said about learning, claim by claim, and what a run of a minute at most says to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/report/page.h"
#include "labs/learning/data/loader.h"
#include "labs/learning/network/loss.h"
#include "labs/learning/network/module.h"
#include "labs/learning/network/optimizer.h"

namespace klab::learning {

enum class Finding { held, refuted, depends };
const char* name_of(Finding finding);

/// What a claim is about, as a number of this run: from the lowest of its rounds, or of what it depends on, to the highest.
struct Measured {
  std::string metric;  // "ratio of times", "dB", "bytes", ...
  double low = 0, value = 0, high = 0;
};

/// One thing that is said, and the word for it.
struct Decided {
  std::string said;  // a sentence without its full stop
  Finding finding = Finding::depends;
  std::string because;      // with the numbers
  std::string source = {};  // the kind of text that says so: "plan", "course", "paper"; empty: many
  std::optional<Measured> measured = {};
};

/// What came out.
struct Outcome {
  std::vector<Decided> decided = {};
  std::vector<std::string> heads;  // of the table
  std::vector<std::vector<std::string>> rows;
  std::vector<Curve> curves;
  std::string x, y;  // axes of the curves
  bool log_x = false, log_y = false;
};

struct Experiment {
  std::string name;
  std::string about;  // what is looked at, in a sentence without its full stop
  Outcome (*run)(uint64_t seed);
};

/// All of them, by name.
const std::vector<Experiment>& experiments();

/// Those of these names; without a name all. Throws NotFound naming what is near.
std::vector<const Experiment*> experiments_named(const std::vector<std::string>& names);
/// "accumulation, decay, ..."
std::string experiment_names();

/// Adds one. The last statement of an experiment's file.
struct ExperimentRegistrar {
  explicit ExperimentRegistrar(Experiment experiment);
};

/// The last rung of each trunk that can do these calls, untimed: the same on every machine and beside any load.
Plan untimed_plan(const std::vector<PlannedCall>& calls);

/// A network with a loss and an optimizer, learning from batches: what experiments are made of.
class Learner {
 public:
  Learner(std::unique_ptr<Network> network, const Examples& examples, int64_t batch,
          const OptimizerSettings& settings, uint64_t seed);
  /// Draws all matrices and kernels anew with this variance times 1/inputs.
  void draw(double times, uint64_t seed);
  /// One step on the next batch; parameters whose name does not begin so stay as they are. Returns the loss.
  double step(const std::string& only = "");
  /// The mean loss of so many steps, the last tenth of them.
  double train(int64_t steps, const std::string& only = "");
  /// Forward and, for the loss's gradient, backward on the next batch, without a step.
  double look();
  /// Share of the examples that are right; in training mode batch statistics are taken as they come.
  double accuracy(const Examples& examples, bool training = false);

  Network& network() { return *network_; }
  Loader& loader() { return loader_; }
  int64_t steps_done() const { return step_; }

 private:
  double forward_backward(const Batch& batch);
  std::unique_ptr<Network> network_;
  const Examples& examples_;
  Optimizer optimizer_;
  CrossEntropy loss_;
  Scale scale_;
  Loader loader_;
  Plan plan_;
  Profile profile_;
  uint64_t seed_;
  int64_t step_ = 0;
};

/// Root mean square.
double rms(const float* values, int64_t count);
/// "97.3 %" of a share.
std::string percent_text(double share);

}  // namespace klab::learning
