// Trains a scene as Gaussians.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <random>

#include "harness/records/tensor_file.h"
#include "labs/radiance/scene/scene.h"
#include "labs/radiance/splat/density.h"
#include "labs/radiance/splat/exposure.h"
#include "labs/radiance/splat/painter.h"
#include "labs/radiance/splat/splat_optimizer.h"
#include "labs/radiance/splat/splat_options.h"
#include "labs/radiance/train/field_trainer.h"

namespace klab {

/// Returns the calls of a training step, for a plan: what measuring its programs finds for that many Gaussians and pictures of this
/// size.
std::vector<PlannedCall> splat_training_calls(int64_t n, int degree, int width, int height,
                                              const Painting& how = {});

class SplatTrainer {
 public:
  /// The scene must outlive it. `start`: Gaussians to start from instead of random ones. `backend` as of Painter.
  SplatTrainer(const Scene& scene, const SplatOptions& options, Plan plan, uint64_t seed,
               std::optional<GaussianSet> start = {}, const Backend& backend = cpu_backend());

  /// Trains on one view. `done` is the elapsed share of the time, 0 to 1. Throws NotFinite before a gradient that is
  /// not finite changes a parameter, and if parameters are no longer finite.
  void step(double done);
  /// Loss and PSNR of the last step's picture, before its update.
  double last_loss();
  double last_psnr() const;

  /// Saves the state other than the set, for a checkpoint: moments, statistics, the next views, the
  /// generator's state.
  void save_state(std::vector<TensorView>& tensors, nlohmann::json& state) const;
  /// Restores the state into a trainer that started with the checkpoint's set. Throws std::runtime_error,
  /// "<where>: ...", if it is damaged.
  void restore_state(const TensorFile& file, const nlohmann::json& state, const std::string& where);

  int64_t steps_done() const { return steps_; }
  const GaussianSet& set() const { return set_; }
  int degree() const { return degree_; }  // in use now
  const Painter& painter() const { return painter_; }
  Painter& painter() { return painter_; }
  const Exposures& exposures() const { return exposures_; }
  bool black() const { return black_; }
  /// Describes the last addition and removal; empty before the first.
  const std::string& last_change() const { return last_change_; }
  /// Multiplies all learning rates of the following steps.
  void scale_rates(double factor) { rate_factor_ = factor; }
  /// Learning rate of positions in the last step.
  double position_rate() const { return optimizer_.position_rate(); }
  /// Bytes that the arrays have reserved: now, and at most since the last call, as a set that changes is held twice for a moment.
  struct Held {
    int64_t now = 0, most = 0;
  };
  Held held();
  /// Length of the last step's gradient.
  double gradient_norm() const { return gradient_norm_; }

 private:
  const View& next_view();
  std::array<float, 3> draw_background() const;
  void make_target(const View& view, const std::array<float, 3>& background);
  void hide_what_does_not_count(const View& view);
  /// The last step's picture as its camera takes it.
  const std::vector<float>& shown() const { return exposures_.learned() ? exposed_ : painter_.image(); }
  void change(double done);
  int64_t held_now() const;
  void require_finite() const;
  void require_finite_gradient();

  const Scene& scene_;
  SplatOptions options_;
  Painter painter_;
  uint64_t seed_;
  bool black_;         // in evaluation
  double extent_ = 1;  // of the cameras, grid units
  GaussianSet set_, gradient_;
  SplatOptimizer optimizer_;
  DensityStatistics seen_;
  Exposures exposures_;
  std::vector<float> target_, exposed_, d_image_;
  std::vector<size_t> hidden_;  // pixels of the last view that do not count
  std::vector<int32_t> views_;  // the views left in this round, in order
  std::mt19937_64 random_;
  int64_t steps_ = 0;
  int width_ = 0, height_ = 0, degree_ = 0;
  bool was_reset_ = false;
  double rate_factor_ = 1, gradient_norm_ = 0;
  int64_t while_changing_ = 0;  // bytes held, at most
  std::string last_change_;
};

}  // namespace klab
