// The output of a training run in its folder: metrics.csv, result.json and pictures.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/camera_plot.h"
#include "harness/report/plots.h"

namespace klab {

struct TrainingPicture {
  std::string name;  // "test_0.png"
  std::string data;  // "data:image/jpeg;base64,..."
  int width = 0, height = 0;
  std::string truth =
      {};  // of a view of the scene: its true picture in the same size; `data` then is the model's
};

/// A column of metrics.csv that the report draws over the seconds of training.
struct DrawnColumn {
  const char* column;
  double scale;
  const char* unit;  // after the scale
  const char* axis;
  bool logarithmic;
  const char* caption;
};
/// Returns them in the order of the report. Those after the first two may be empty, and missing in older files.
const std::vector<DrawnColumn>& drawn_columns();

struct TrainingRun {
  std::string name;  // name of the folder
  nlohmann::json result;
  std::vector<Curve> curves;         // one for each drawn column; empty where the run has no values
  std::vector<Curve> terms;          // weighted terms of the loss, if there are several
  std::vector<Curve> stages;         // the largest stages' shares of the time, %; empty for older runs
  std::optional<double> clipped;     // share of the lines in which the gradient was clipped
  std::optional<double> best_batch;  // planned samples of a step at which most samples a second were learned;
  double best_rate = 0;              // their mean number. Only where the batch changed
  std::vector<TrainingPicture> pictures;
  std::optional<CameraPlot> cameras;  // if the run wrote them
};

/// Returns a run's curve of a drawn column. Throws std::out_of_range for a column that is not drawn.
const Curve& curve_of(const TrainingRun& run, std::string_view column);

/// Throws std::runtime_error that names the missing or broken file. Pictures are shrunk; those that cannot be
/// read are left out, and so is the contact sheet, which shows the same views. With `most_pictures` 0, cameras are not read.
TrainingRun read_training(const std::string& folder, size_t most_pictures);

/// Returns a PNG as base64-encoded JPEG, shrunk to at most `width` pixels in width. Empty if it cannot be
/// read.
TrainingPicture embedded_picture(const std::string& file, int width);

/// Returns the two pictures of a run's test_<i>.png or train_<i>.png, each shrunk to at most `width` pixels: the model's on the left of the file, the
/// true one on the right. Empty if it cannot be read.
TrainingPicture embedded_comparison(const std::string& file, int width);

}  // namespace klab
