// Evaluates a run on its test views, after the last step.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/run/contact_sheet.h"
#include "labs/radiance/run/score_scope.h"
#include "labs/radiance/train/backends.h"

namespace klab {

struct Evaluation {
  std::optional<Score> score;
  std::string why;          // why there is no score; empty: a signal asked for the end
  ContactSheet sheet = {};  // made of the same pictures
};

/// Returns the name of the file that evaluate_run() writes with a view's pictures, test_<i>.png for the first eight of the run's
/// `scored` views; empty for the others.
std::string file_of_view(const std::vector<int64_t>& scored, int64_t view);

/// Scores a model on the views of a scope, `pixels` at a time; halves that number each time an allocation fails. Ends
/// when the scope's time is over. Writes the files of views into the folder, the model's picture left, the true one right. A
/// signal during the evaluation ends it without a score. Gaussians compute depth where the sheet shows it.
Evaluation evaluate_run(FieldModel& model, const BackendChoice& where, const std::optional<Plan>& given,
                        CallTimes& times, std::span<const View> test, int64_t pixels,
                        const std::filesystem::path& folder, const ScoreScope& scope,
                        const std::vector<int64_t>& scored);

/// Scores the views of a scope, in its order, until its time is over; `each` as in evaluate().
std::vector<ViewScore> score_views(const std::function<Picture(const Camera&)>& render, bool black,
                                   std::span<const View> test, const ScoreScope& scope, const EachView& each);

/// Returns the plan of pictures of that name: the first rank times rungs if needed, and all use its choice.
Plan picture_plan_of_all(Ranks& ranks, const std::string& name, const FieldModel& model,
                         const BackendChoice& where, CallTimes& times);

/// Merges the scores of all ranks, in the order of the views. There is no score if a rank has none. Every rank must call
/// it with its own result, and keeps its own sheet.
Evaluation merge_scores(const Evaluation& mine, Ranks& ranks, const ScoreScope& scope, bool black);

}  // namespace klab
