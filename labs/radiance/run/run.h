// A training run: the clock, the folder it writes into, what survives when it is killed.
//
//   DIR/checkpoint.safetensors   everything needed to go on; renewed every half-minute (--checkpoint) and at the end
//   DIR/model.safetensors        what eval and render read; written at the end
//   DIR/metrics.csv              a line every second or so
//   DIR/plan.json                which variant does which op, for --plan; written before the first step
//   DIR/result.json              scores, protocol, times, stage shares; written at the end
//   DIR/test_<i>.png             what the model makes of the test views, beside the truth
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/pressure.h"

namespace klab {

struct RunOptions {
  // Not given: built-in, 1, 8 and 1; or as the resumed run has them, which may not be contradicted.
  std::optional<std::string> scene;
  std::optional<int> downscale, holdout;
  std::optional<uint64_t> seed;
  std::optional<std::string> moved_to;  // where the resumed run's scene is now
  std::optional<double> seconds;        // of training; evaluation is not counted
  std::optional<int64_t> steps;
  std::optional<std::string>
      plan;  // "best", "last", "naive" or a file; not given: best, or as the resumed run had it
  /// "f32", "bf16": of the factors of matrix products, where a rung has them, or "f16": of what is stored between ops;
  /// parameters, sums and losses are float. Not given: f32, or as the resumed run had it.
  std::optional<std::string> precision;
  std::optional<LossScaleSettings> loss_scale;  // of f16; not given: dynamic, or as the resumed run had it
  std::string backend = "cpu";                  // "cpu", "simt" or "cuda" (backends.h)
  std::optional<std::string> field;             // not given: hash, or as the resumed run has it
  FieldSettings settings;                       // of that field
  std::filesystem::path out;                    // empty: runs/<scene>, with a number where that is taken
  std::filesystem::path resume;                 // a run's folder to go on with
  double checkpoint_every = 30;                 // seconds
  std::optional<int64_t> memory;                // bytes that the run may take; not given: what is free
  PressureRule pressure;                        // when memory gets short while it trains
  std::optional<int64_t> resident;              // pictures in memory at a time; not given: as many as fit
  /// That a step's batch is computed in, one after the other, or by several processes; not given: one each. A multiple of
  /// their number.
  std::optional<int64_t> parts;
  bool recompute = false;          // StepSizes::recompute, of the hash field
  std::string exchange = "dense";  // how several processes share the table's gradient (ranks/exchange.h)
  int workers = 1;                 // threads that read pictures, where they do not all fit
  int64_t ahead = 2;               // pictures that they read before their turn
  bool evaluate = true;            // on the test views, at the end
  bool json = false;               // print result.json instead of words
};

/// Trains, saves and evaluates. Returns the exit code: 0, or 130 after an interruption. A plan that cannot be run is refused
/// before the scene is read, a folder that cannot be written to before the training.
int train(RunOptions options, CallTimes& times);

/// The model meant by a path: the file itself, or the one in the folder of a run.
std::filesystem::path model_file(const std::filesystem::path& given);

/// A score as JSON text: per view and mean PSNR and SSIM, with the protocol.
std::string score_json(const Score& score);

}  // namespace klab
