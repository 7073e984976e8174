// Learns one photograph with a two-dimensional hash encoding and a small network: the short way through the
// whole pipeline of lab 16, made of the same operations.
#pragma once

#include <span>
#include <vector>

#include "harness/program/memory.h"
#include "harness/program/run_ops.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/scene/image.h"

namespace klab {

struct FitOptions {
  int64_t levels = 16;
  int64_t features = 2;
  int64_t log2_table = 0;  // 0: the largest table whose parameters are at most a quarter of the pixels' count
  int64_t base_resolution = 16;
  int64_t width = 64;
  int64_t hidden = 2;
  int64_t batch = 1 << 16;  // pixels in a step
  double learning_rate = 1e-2;
  double final_rate = 1.0 / 30.0;
  uint64_t seed = 1;
};

/// Returns the options for a picture, with the size of the table filled in.
FitOptions completed(const FitOptions& options, int width, int height);

/// Returns the calls of one step, for a plan: what measuring it finds. The options must be completed ones.
std::vector<PlannedCall> fit_calls(const FitOptions& options, int width, int height);

class ImageFit {
 public:
  /// The image and the plan must outlive it. Throws std::invalid_argument for options that make no model.
  ImageFit(const Image& image, const FitOptions& options, const Plan& plan);

  /// Makes one step on a random batch of pixels; `progress` in [0,1] for the learning-rate schedule. Returns
  /// the loss (mean squared error over channels). Throws std::runtime_error if it is not finite.
  double step(double progress);

  /// Renders the whole picture, [height, width, 3].
  std::vector<uint8_t> render();

  int64_t parameters() const { return table_.size() + weights_.size(); }
  int64_t log2_table() const { return options_.log2_table; }
  int64_t steps_done() const { return step_; }
  Profile& profile() { return profile_; }

 private:
  void evaluate(Ops& ops, int64_t n);
  void loss_and_gradient(Ops& ops);
  void update(Ops& ops, double learning_rate);
  friend std::vector<PlannedCall> fit_calls(const FitOptions& options, int width, int height);

  const Image& image_;
  FitOptions options_;
  const Plan& plan_;
  Profile profile_;
  Memory memory_{cpu_backend()};  // none of its own: the arrays are the fit's
  RunOps ops_{memory_};
  int64_t step_ = 0;
  Array<float> table_, weights_;
  OptimizerState table_state_, weights_state_;
  Array<float> positions_, features_, rgb_, target_, loss_, d_loss_, d_rgb_, d_features_;
};

/// Returns the PSNR in dB of `pixels` [height,width,3] against the image's colors.
double image_psnr(const Image& image, std::span<const uint8_t> pixels);

}  // namespace klab
