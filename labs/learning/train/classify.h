// Implements klab classify: trains, evaluates, and writes a folder.
//
//   DIR/checkpoint.safetensors   parameters, running averages, moments: --resume continues from it
//   DIR/model.safetensors        parameters and running averages
//   DIR/plan.json                the rungs that were used. With --plan, and the same seed and threads, they
//   give the
//                                same weights
//   DIR/result.json              scores, settings, plan, times
//   DIR/wrong.png                misclassified test examples
//   DIR/report.html              curves, confusion matrix, misclassified examples, time by op, the ladder of
//                                plans; on a GPU with the processor's step in it
#pragma once

#include <string>

#include "labs/learning/train/trainer.h"

namespace klab::learning {

struct ClassifyOptions {
  std::string data = "glyphs";
  std::string plan;              // best, naive, or a file; empty: the checkpoint's plan, or the best
  std::filesystem::path out;     // empty: runs/<data>_<model>
  std::filesystem::path resume;  // folder of an earlier run
  int64_t train = 0, test = 0;   // number of examples to keep; 0: all
  bool retry_not_finite =
      false;        // after a loss that is not finite: back to the last checkpoint with half the rates
  int retries = 5;  // at most
  bool ladder = false;
  bool json = false;
  Backend backend = cpu_backend();  // where the steps run
  std::string rungs = "cpu";        // "cpu" or "cuda": the rungs that run there
  TrainerSettings trainer;
};

/// Returns the exit code: 0, or 130 after an interruption, with the progress saved. Throws std::runtime_error
/// and std::invalid_argument for bad input, before anything is written.
int classify(ClassifyOptions options);

}  // namespace klab::learning
