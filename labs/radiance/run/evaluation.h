// The evaluation of a run on its test views, behind its last step.
#pragma once

#include <optional>
#include <string>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/train/backends.h"

namespace klab {

struct Evaluation {
  std::optional<Score> score;
  std::string why;  // there is none; empty: a signal asked for the end
};

/// Scores a model on `views`, with so many pixels at a time: half as many each time an allocation fails. Of the first eight it
/// writes test_<i>.png into the folder, left the model, right the truth. A signal in the middle of it ends it without a score.
Evaluation evaluate_run(const FieldModel& model, const BackendChoice& where, const std::optional<Plan>& given,
                        CallTimes& times, std::span<const View> views, int64_t pixels,
                        const RunFolder& folder);

}  // namespace klab
