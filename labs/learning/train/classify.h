// What klab classify does: trains, evaluates, and leaves a folder behind.
//
//   DIR/checkpoint.safetensors   parameters, running averages, moments: --resume goes on from it
//   DIR/model.safetensors        parameters and running averages
//   DIR/plan.json                the rungs that did it: --plan takes it, and then the same seed and threads give the same weights
//   DIR/result.json              scores, settings, plan, times
//   DIR/wrong.png                test examples that were taken for something else
//   DIR/report.html              curves, confusion matrix, the wrong ones, time by op, the ladder of plans
#pragma once

#include <string>

#include "labs/learning/train/trainer.h"

namespace klab::learning {

struct ClassifyOptions {
  std::string data = "glyphs";
  std::string plan;              // best, naive, a file; empty: that of the checkpoint, or the best
  std::filesystem::path out;     // empty: runs/<data>_<model>
  std::filesystem::path resume;  // a folder of before
  int64_t train = 0, test = 0;   // keep so many examples; 0: all
  bool ladder = false;
  bool json = false;
  TrainerSettings trainer;
};

/// Returns the exit code: 0, or 130 after an interruption, with what was trained until then saved. Throws
/// std::runtime_error and std::invalid_argument for bad input, before anything is written.
int classify(ClassifyOptions options);

}  // namespace klab::learning
