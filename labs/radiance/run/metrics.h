// metrics.csv of a run: about one line a second, written during training.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/gpu/gpu_use.h"
#include "labs/radiance/run/validation.h"
#include "labs/radiance/train/trainer.h"

namespace klab {

/// Content of a line.
struct MetricsLine {
  StepReport report;
  double psnr = 0, seconds = 0, rate = 0, occupied = 0;
  int64_t memory = 0, memory_peak = 0;    // bytes of the process, by the system
  double cpu = 0;                         // busy share of all threads' time since the last line, in [0,1]
  double waited = 0;                      // seconds that steps waited for pictures, in this process
  double learning_rate = 0;               // NaN: there is none, and the field stays empty
  int64_t device_free = 0;                // bytes that a GPU still has; 0: no such memory
  int64_t batch = 0;                      // samples of a step that the number of rays aims at
  int64_t sent = 0;                       // bytes that this process sent to others in the step
  double rate_factor = 1;                 // on the learning rate, after a step that was not finite
  std::optional<ValidationPoint> unseen;  // a validation since the line before
  double loss_scale = 0;                  // factor on the loss; 0: unused, and this and the next stay empty
  int64_t skipped = 0;                    // steps skipped so far because their gradients were not finite
  std::optional<GpuUse> device;           // of a GPU, where its driver tells
};

/// Writes the file.
class Metrics {
 public:
  /// Continues after step `done`. Removes lines of later steps and an incomplete last line: a process wrote
  /// them that was killed after its last checkpoint. Creates a new file if done is 0. Columns that an older
  /// file lacks stay empty.
  Metrics(const std::filesystem::path& file, int64_t done);
  void line(const MetricsLine& line);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

/// A file's columns by name; NaN for a missing value or column.
using MetricsColumns = std::map<std::string, std::vector<double>>;

/// Reads such a file, also one that is being written: leaves out a last line without an end. Throws
/// std::runtime_error naming file, line and column if it is no metrics.csv.
MetricsColumns read_metrics(const std::filesystem::path& file);

}  // namespace klab
