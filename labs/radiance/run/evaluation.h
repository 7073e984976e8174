// Evaluates a run on its test views, after the last step.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/train/backends.h"

namespace klab {

struct Evaluation {
  std::optional<Score> score;
  std::string why;  // why there is no score; empty: a signal asked for the end
};

/// A share of a run's test views: every `stride`-th from `first` on.
struct ViewShare {
  int first = 0, stride = 1;
};

/// Scores a model on `views`, `pixels` at a time; halves that number each time an allocation fails. Writes
/// test_<i>.png for the run's first eight views into the folder, the model's picture left, the true one
/// right. A signal during the evaluation ends it without a score.
Evaluation evaluate_run(const FieldModel& model, const BackendChoice& where, const std::optional<Plan>& given,
                        CallTimes& times, std::span<const View> views, int64_t pixels,
                        const std::filesystem::path& folder, const ViewShare& share = {});

/// Returns the plan of pictures of that name: the first rank times rungs if needed, and all use its choice.
Plan picture_plan_of_all(Ranks& ranks, const std::string& name, const FieldModel& model,
                         const BackendChoice& where, CallTimes& times);
/// Returns this rank's views: every N-th from its number on.
std::vector<View> views_of_rank(const Ranks& ranks, std::vector<View> views);

/// Merges the scores of all ranks, in the order of the views; `width` x `height` is the size of the first one
/// and `count` their number. There is no score if a rank has none. Every rank must call it with its own
/// result.
Evaluation together(const Evaluation& mine, Ranks& ranks, int64_t count, int width, int height, bool black);

}  // namespace klab
