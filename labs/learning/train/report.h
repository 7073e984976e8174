// The page and pictures written by the training of a classifier.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/program/plan_rungs.h"
#include "labs/learning/train/trainer.h"

namespace klab::learning {

/// One line of the curves.
struct EpochLine {
  int64_t epoch = 0;
  double seconds = 0, train_loss = 0, test_loss = 0, accuracy = 0;
};

/// Writes a mosaic of at most `most` misclassified test images. Returns false if there are none, or no
/// images.
bool save_wrong(const std::filesystem::path& file, const Examples& test, const Evaluation& evaluation,
                int64_t most);

/// Returns the class's name, or its number.
std::string class_name(const Examples& examples, int64_t label);

/// Returns stages by time, longest first: name and share of the total.
std::vector<std::pair<std::string, double>> shares_of(const Profile& profile);

/// Returns "f16: 3 of 500 steps skipped, loss scale 8192, 0.31 % of the gradients rounded to zero".
std::string precision_text(const Trainer& trainer);

std::string report_page(const Dataset& data, const Trainer& trainer, const std::vector<EpochLine>& curve,
                        const Evaluation& evaluation, const Profile& profile,
                        const std::vector<PlanRung>& ladder, const std::filesystem::path& wrong);

}  // namespace klab::learning
