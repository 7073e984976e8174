// The evaluation of a run on its test views, behind its last step.
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
  std::string why;  // there is none; empty: a signal asked for the end
};

/// Which of a run's test views these are: every `stride`-th from `first` on.
struct ViewShare {
  int first = 0, stride = 1;
};

/// Scores a model on `views`, with so many pixels at a time: half as many each time an allocation fails. Of the run's first eight it
/// writes test_<i>.png into the folder, left the model, right the truth. A signal in the middle of it ends it without a score.
Evaluation evaluate_run(const FieldModel& model, const BackendChoice& where, const std::optional<Plan>& given,
                        CallTimes& times, std::span<const View> views, int64_t pixels,
                        const std::filesystem::path& folder, const ViewShare& share = {});

/// The plan of pictures of that name: the first rank times rungs, where that is needed, and all take its choice.
Plan picture_plan_of_all(Ranks& ranks, const std::string& name, const FieldModel& model,
                         const BackendChoice& where, CallTimes& times);
/// Those of the views that are this rank's: every N-th from its number on.
std::vector<View> views_of_rank(const Ranks& ranks, std::vector<View> views);

/// The scores of all ranks' views together, in the order of the views, `width` x `height` the first of which there are `count`; without a score
/// where any rank has none. To be called by all with what each has come to.
Evaluation together(const Evaluation& mine, Ranks& ranks, int64_t count, int width, int height, bool black);

}  // namespace klab
