// The output of a training run in its folder: metrics.csv, result.json and pictures.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/report/camera_plot.h"
#include "harness/report/plots.h"

namespace klab {

struct TrainingPicture {
  std::string name;  // "test_0.png"
  std::string data;  // "data:image/jpeg;base64,..."
  int width = 0, height = 0;
  std::string truth = {};  // of a test view: its true picture in the same size; `data` then is the model's
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
  std::optional<CameraPlot> cameras;  // if the run wrote them
};

/// Throws std::runtime_error that names the missing or broken file. Pictures are shrunk; those that cannot be
/// read are left out, and so is the contact sheet, which shows the same views. With `most_pictures` 0, cameras are not read.
TrainingRun read_training(const std::string& folder, size_t most_pictures);

/// Returns a PNG as base64-encoded JPEG, shrunk to at most `width` pixels in width. Empty if it cannot be
/// read.
TrainingPicture embedded_picture(const std::string& file, int width);

/// Returns the two pictures of a run's test_<i>.png, each shrunk to at most `width` pixels: the model's on the left of the file, the
/// true one on the right. Empty if it cannot be read.
TrainingPicture embedded_comparison(const std::string& file, int width);

}  // namespace klab
