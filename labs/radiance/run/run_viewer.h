// Someone who watches a run while it trains: the run's side. labs/radiance/view implements it with a page.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/scene/scene.h"
#include "labs/radiance/train/field_trainer.h"

namespace klab {

/// What a viewer may use of a run. The functions are called by the thread that trains only, between two steps; the rest
/// stays unchanged until RunViewer::end().
struct ViewedRun {
  std::filesystem::path folder;
  std::string field;
  const Scene* scene = nullptr;  // null: not known
  bool black = false;            // what the model is evaluated on, instead of white
  /// Returns a copy of the present model.
  std::function<std::unique_ptr<FieldModel>()> model;
  /// Returns a function that makes pictures of a model while it lives.
  std::function<std::function<Picture(const Camera&)>(const FieldModel&)> pictures;
  /// Writes a checkpoint.
  std::function<void()> save;
};

class RunViewer {
 public:
  virtual ~RunViewer() = default;
  /// Returns where the run can be watched, for its output, and notes for the user.
  virtual std::string address() const = 0;
  /// Begins, after the trainer was made.
  virtual void begin(ViewedRun run) = 0;
  /// Called before each step. Makes pictures for those who watch, and waits while the run is paused. Returns the seconds that it
  /// took, which are not training time.
  virtual double between_steps(FieldTrainer& trainer) = 0;
  /// Called after the last step: there are no pictures from here on. Returns the seconds that pictures took in all.
  virtual double trained() = 0;
  /// Called before what begin() was given ends.
  virtual void end() = 0;
};

}  // namespace klab
