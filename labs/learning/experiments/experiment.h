// An experiment: a list of claims about learning, and the verdicts of a run that takes a minute at most.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/program/run_ops.h"
#include "harness/records/claim_record.h"
#include "harness/report/page.h"
#include "labs/learning/data/loader.h"
#include "labs/learning/network/step.h"

namespace klab::learning {

enum class Finding { held, refuted, depends };
const char* name_of(Finding finding);

/// The quantity of a claim, measured in this run: lowest, typical and highest value over its rounds or
/// conditions.
struct Measured {
  std::string metric;  // "ratio of times", "dB", "bytes", ...
  double low = 0, value = 0, high = 0;
};

using Claim = klab::StatedClaim;

/// A claim with its verdict.
struct Decided {
  std::string said;  // the claim, a sentence without its full stop
  Finding finding = Finding::depends;
  std::string because;      // the reason, with numbers
  std::string source = {};  // kind of text that makes the claim: "plan", "course", "paper"; empty: many
  std::optional<Measured> measured = {};
  std::string id = {};              // of a declared claim
  std::vector<ClaimRow> rows = {};  // its metric by condition, as for the record
};

/// Applies the claim's rule to what this run measured. A row has one value, or one per seed if the experiment has seeds of its own.
/// Throws std::logic_error if a value is not finite, or if conditions do not match Claim::on.
Decided decide(const Claim& claim, std::vector<ClaimRow> rows, std::string because);
/// Does that for a metric that is measured under one condition.
Decided decide(const Claim& claim, double value, std::string because);

/// The results of a run.
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
  std::string about;  // the question, in a sentence without its full stop
  Outcome (*run)(uint64_t seed);
  /// Runs it with a network of the caller's, a line of layers for [1,28,28] and ten classes; null if it has none to replace.
  Outcome (*run_network)(uint64_t seed, const std::string& line) = nullptr;
  std::vector<Claim> claims = {};  // those that it decides, each in every run
  int own_seeds = 1;               // seeds in one run, which then has that many values per row
  int edition = 1;  // raised when its measurement changes: recorded runs of another one are out of date
};

/// Returns all experiments, by name.
const std::vector<Experiment>& experiments();

/// Returns the experiments of these names; all if there are none. Throws NotFound with the nearest names.
std::vector<const Experiment*> experiments_named(const std::vector<std::string>& names);
/// Returns "accumulation, decay, ...".
std::string experiment_names();

/// Returns the declared claims of all experiments, and those that a GPU's times decide, by id.
std::vector<Claim> all_claims();
/// Returns the experiment that decides a claim; nullptr if a GPU's times do.
const Experiment* experiment_of(const Claim& claim);

/// Adds claims that the recorded times of a GPU decide. Used as a statement of a file next to an experiment on the same subject.
struct GpuClaimRegistrar {
  explicit GpuClaimRegistrar(std::vector<Claim> claims);
};

/// Registers an experiment. Used as the last statement of its file.
struct ExperimentRegistrar {
  explicit ExperimentRegistrar(Experiment experiment);
};

/// Returns the plan with the last rung of each trunk that supports these calls, chosen without timing. It is
/// the same on every machine and under any load.
Plan untimed_plan(const std::vector<PlannedCall>& calls);

/// A network with a loss and an optimizer that learns from batches: the building block of experiments.
class Learner {
 public:
  Learner(std::unique_ptr<Network> network, const Examples& examples, int64_t batch,
          const OptimizerSettings& settings, uint64_t seed);
  /// Draws all matrices and kernels again, with variance `times` / inputs.
  void draw(double times, uint64_t seed);
  /// Takes one step on the next batch and returns the loss. Only parameters whose name begins with `only`
  /// change.
  double step(const std::string& only = "");
  /// Takes `steps` steps; returns the mean loss of the last tenth.
  double train(int64_t steps, const std::string& only = "");
  /// Runs forward and backward on the next batch without a step; returns the loss.
  double find_gradient();
  /// Returns the fraction of correct examples. In training mode the layers use batch statistics.
  double accuracy(const Examples& examples, bool training = false);

  Network& network() { return *network_; }
  Loader& loader() { return loader_; }
  int64_t steps_done() const { return step_; }

 private:
  void run(const std::string& program, const RunOps::Body& body) { ops_.run(program, plan_, profile_, body); }
  std::unique_ptr<Network> network_;
  const Examples& examples_;
  Step program_;
  RunOps ops_;
  Scale scale_;
  Loader loader_;
  Plan plan_;
  Profile profile_;
  uint64_t seed_;
  int64_t step_ = 0;
};

/// Returns the root mean square.
double rms(const float* values, int64_t count);
/// Formats a fraction: "97.3 %".
std::string percent_text(double share);

}  // namespace klab::learning
