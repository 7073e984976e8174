// klab regress --quality SCENE: trains a scene with several seeds and compares dB with an earlier program or a recorded pool.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/compare/quality.h"

namespace CLI {
class App;
}

namespace klab {

/// What each training of a pool does. Pools are compared only if all of it is the same, apart from `changes`.
struct QualityTask {
  std::string scene;
  std::string field = "hash";
  std::string config;                // text of a JSON file; empty: the defaults
  std::vector<std::string> changes;  // name=value, settings on top of it
  std::string backend = "cpu";
  std::string precision = "f32";
  int downscale = 1, holdout = 8;
  double seconds = 0;  // length of a training; if 0:
  int64_t steps = 0;
  double reach = 0;  // dB whose length to reach is recorded; 0: none
};

/// Trains with one seed in a process of its own: this program's, or that of the base if `program` names one. Files go into
/// `folder`, and stay only if the training fails. Throws std::runtime_error with its message if it fails, and returns false
/// after an interruption.
using TrainForQuality = std::function<bool(const QualityTask& task, uint64_t seed, const std::string& program,
                                           const std::string& folder, QualityRun& run)>;

/// Registers the training; a lab that has one does. Without any, the gate refuses.
class QualityTrainingRegistrar {
 public:
  explicit QualityTrainingRegistrar(TrainForQuality train);
};

/// The options of klab regress that are for --quality.
struct QualityGateOptions {
  QualityTask task;
  std::string against, base, baseline, out;
  int seeds = 16;
  double minutes = 0;  // 0: no limit
  double loss = 0;     // dB that --power predicts; 0: several
  bool power = false;
  int trials = 0;
  bool strict = false, json = false, markdown = false;
  QualityOptions judge;
};

inline constexpr const char* kQualityGroup = "Quality";  // of these options
void add_quality_options(CLI::App& app, QualityGateOptions& options);

/// Returns the exit code, as of klab regress: 0 nothing is worse, 1 something is, 2 bad input or, with `strict`, undecided.
/// Throws std::invalid_argument naming option or file, field and remedy.
int run_quality_gate(const QualityGateOptions& options);

}  // namespace klab
