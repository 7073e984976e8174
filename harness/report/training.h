// The output of a training run in its folder: metrics.csv, result.json and pictures.
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
  std::string name;  // name of the folder
  nlohmann::json result;
  Curve psnr, loss;      // of the batch, over seconds
  Curve scale, skipped;  // loss scale, and number of skipped steps so far; empty if the loss was not scaled
  Curve unseen;          // PSNR of unseen views; empty without --eval-every
  Curve gradient, rate, speed, memory;  // length of the gradient, learning rate, M samples/s, MB
  Curve cpu, occupied, batch;           // shares in %, and planned samples of a step
  std::vector<Curve> stages;            // the largest stages' shares of the time, %; empty for older runs
  std::vector<TrainingPicture> pictures;
};

/// Throws std::runtime_error that names the missing or broken file. Pictures are shrunk; those that cannot be
/// read are left out.
TrainingRun read_training(const std::string& folder, size_t most_pictures);

/// Returns a PNG as base64-encoded JPEG, shrunk to at most `width` pixels in width. Empty if it cannot be
/// read.
TrainingPicture embedded_picture(const std::string& file, int width);

}  // namespace klab
