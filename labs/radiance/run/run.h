// A training run: its clock, its folder, and the files that survive when it is killed.
//
//   DIR/checkpoint.safetensors   everything needed to resume; written every half-minute (--checkpoint) and at the end
//   DIR/model.safetensors        input of eval and render; written at the end
//   DIR/metrics.csv              a line about every second
//   DIR/stages.csv               shares of the time by stage, about as often
//   DIR/plan.json                the variant of each op, for --plan; written before the first step
//   DIR/result.json              scores, protocol, times, stage shares; written at the end
//   DIR/test_<i>.png             the model's pictures of the test views, next to the true ones
//   DIR/train_<i>.png            the same of two training views
//   DIR/contact_sheet.png        a few test views: truth, rendered, depth, error; written after the result
//   DIR/cameras.json             where the views were taken from, with the PSNR of the test views
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/run/budget.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/pressure.h"
#include "labs/radiance/run/run_viewer.h"
#include "labs/radiance/run/validation.h"

namespace klab {

struct RunOptions {
  // If not given: built-in, 1, 8 and 1, or those of the resumed run. A given value must not contradict a
  // resumed run.
  std::optional<std::string> scene;
  std::optional<int> downscale, holdout;
  std::optional<uint64_t> seed;
  std::optional<std::string> moved_to;  // new place of the resumed run's scene
  std::optional<double> seconds;        // of training, without evaluation
  std::optional<int64_t> steps;
  std::optional<std::string>
      plan;  // "best", "last", "naive" or a file; not given: best, or the resumed run's
  /// "f32"; "bf16": the factors of matrix products, if a rung has them; "f16": tensors stored between ops.
  /// Parameters, sums and losses are float. Not given: f32, or the resumed run's.
  std::optional<std::string> precision;
  std::optional<LossScaleSettings> loss_scale;  // for f16; not given: dynamic, or the resumed run's
  std::string backend = "cpu";                  // "cpu", "simt" or "cuda" (backends.h)
  std::optional<std::string> field;             // not given: hash, or the resumed run's
  FieldSettings settings;                       // of that field
  std::filesystem::path out;                    // empty: runs/<scene>, with a number if that exists
  std::filesystem::path resume;                 // folder of a run to resume
  double checkpoint_every = 30;                 // seconds
  std::optional<int64_t> memory;                // limit in bytes; not given: the free memory
  PressureRule pressure;                        // reaction when memory becomes short during training
  int64_t reserve = 0;                          // bytes that stay free, of the host and of a device
  // samples of a step: at least, where memory is short, and at most, where it is plentiful; not given: kLeastBatch, and as planned
  std::optional<int64_t> least_batch, most_batch;
  std::optional<int64_t> resident;  // pictures in memory at a time; not given: as many as fit
  /// Parts of a step's batch, computed one after the other or by several processes; not given: one for each
  /// process. A multiple of their number.
  std::optional<int64_t> parts;
  bool recompute = false;          // StepSizes::recompute, for the hash field
  std::string exchange = "dense";  // how several processes share the table's gradient (ranks/exchange.h)
  int workers = 1;                 // threads that read pictures, if they do not all fit
  int64_t ahead = 2;               // pictures read before their turn
  /// Names of those two that the user gave: where all pictures stay in memory they change nothing and are refused.
  std::vector<std::string> for_turns;
  bool evaluate = true;         // on the test views, at the end
  std::optional<double> score;  // ScoreScope::seconds; not given: kScoreSeconds, or the resumed run's
  std::optional<ValidationInterval> eval_every;  // between two validations on test views; not given: none
  std::optional<int64_t>
      plateau;  // validations in a row without a gain after which the learning rates are halved
  std::optional<int64_t> patience;  // and after which the run ends
  double metrics_every = 1;         // seconds between two lines of metrics.csv
  bool retry_not_finite = false;    // go back to the last checkpoint after a step that is not finite,
  int64_t retries = 5;              // at most this often
  /// Called before each step, and with the scene when its pictures have been read: a test injects faults here.
  std::function<void(FieldTrainer&)> before_step = nullptr;
  std::function<void(Scene&)> after_reading = nullptr;
  std::shared_ptr<RunViewer> viewer = nullptr;  // null: it is not watched
  bool json = false;                            // print result.json instead of text
};

/// Trains, saves and evaluates. Returns the exit code: 0, or 130 after an interruption. Refuses a plan that
/// cannot run before the scene is read, and a folder that cannot be written before the training.
int train(RunOptions options, CallTimes& times);

/// Returns the model's file: the path itself, or the model in the folder of a run.
std::filesystem::path model_file(const std::filesystem::path& given);

/// Formats a score as JSON: PSNR and SSIM of each view and their means, with the protocol.
std::string score_json(const Score& score, const std::vector<std::string>& notes = {});

}  // namespace klab
