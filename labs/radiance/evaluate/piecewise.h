// Pictures within a limit of memory: fewer pixels at a time from the beginning, or once an allocation has failed.
#pragma once

#include <functional>
#include <string>

#include "labs/radiance/evaluate/field_model.h"

namespace klab {

struct PieceOptions {
  int64_t pixels = 0;  // at a time; 0: as many as the field is drawn fastest with
  int64_t memory = 0;  // bytes that drawing may take on top of the model; 0: as many as there are
};

class PiecewisePictures {
 public:
  static constexpr int64_t kLeast = 64;  // pixels

  /// The model must outlive it. `say` gets a line for each reduction. Throws std::runtime_error, naming the option, if the field
  /// draws pictures as a whole or the least piece takes more than the limit.
  PiecewisePictures(const FieldModel& model, Plan plan, const BackendChoice& where,
                    const PieceOptions& options, std::function<void(const std::string&)> say);

  /// Halves the pixels of a piece each time an allocation fails. Throws std::runtime_error if the least is too large.
  Picture draw(const Camera& camera);
  /// Runs `work(pixels)`, which may be repeated, in the same way.
  void draw_all(const std::function<void(int64_t pixels)>& work);
  int64_t pixels() const { return pixels_; }

 private:
  void halve();

  const FieldModel& model_;
  Plan plan_;
  BackendChoice where_;
  int64_t pixels_;
  std::function<void(const std::string&)> say_;
  std::function<Picture(const Camera&)> render_;  // empty until a picture is drawn
};

}  // namespace klab
