// metrics.csv of a run: a line every second or so, written while it trains, read by whoever looks at it.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "labs/radiance/train/trainer.h"

namespace klab {

/// What a line says.
struct MetricsLine {
  StepReport report;
  double psnr = 0, seconds = 0, rate = 0, occupied = 0;
  int64_t memory = 0, memory_peak = 0;  // bytes of the process, by the system
  double cpu = 0;                       // of all threads' time since the line before, in [0,1]
  double waited = 0;                    // seconds that steps waited for pictures, in this process
  double learning_rate = 0;             // NaN: there is not one, and the field stays empty
  int64_t batch = 0;                    // samples a step that the number of rays aims at
  int64_t sent = 0;                     // bytes that this process sent to others in the step
  double loss_scale = 0;  // what the loss is multiplied by; 0: it is not, and this and the next stay empty
  int64_t skipped = 0;    // steps left out so far, whose gradients were not finite
};

/// The writer.
class Metrics {
 public:
  /// Goes on behind step `done`: lines of later steps, and one that was cut, are of a process that was killed after its
  /// last checkpoint, and go. A new file where done is 0. Columns that an older file lacks stay empty.
  Metrics(const std::filesystem::path& file, int64_t done);
  void line(const MetricsLine& line);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

/// A file's columns by name; NaN where a line, or an older file, has none.
using MetricsColumns = std::map<std::string, std::vector<double>>;

/// Reads such a file, also one that is being written: a last line without an end is left out. Throws std::runtime_error naming
/// file, line and column for what is no metrics.csv.
MetricsColumns read_metrics(const std::filesystem::path& file);

}  // namespace klab
