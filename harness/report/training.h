// What a training run left in its folder: metrics.csv, result.json and pictures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/report/plots.h"

namespace klab {

struct TrainingPicture {
  std::string name;  // "test_0.png"
  std::string data;  // "data:image/jpeg;base64,..."
  int width = 0, height = 0;
};

struct TrainingRun {
  std::string name;  // the folder's
  nlohmann::json result;
  Curve psnr, loss;      // of the batch, over seconds
  Curve scale, skipped;  // what the loss was multiplied by, and steps left out so far; empty where it was not
  std::vector<TrainingPicture> pictures;
};

/// Throws std::runtime_error naming the file that is missing or broken. Pictures are made smaller; those that cannot
/// be read are left out.
TrainingRun read_training(const std::string& folder, size_t most_pictures);

/// A PNG, shrunk to at most that many pixels in width, as JPEG in base64. Empty when it cannot be read.
TrainingPicture embedded_picture(const std::string& file, int width);

}  // namespace klab
