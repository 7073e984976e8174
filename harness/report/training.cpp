#include "harness/report/training.h"
#include "harness/records/input.h"

#include <csv.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

namespace klab {
namespace {

namespace fs = std::filesystem;

using MetricsReader = io::CSVReader<13, io::trim_chars<>, io::no_quote_escape<','>>;

/// The columns that are drawn; the file may have others. Those after the first three may be empty, and missing in older
/// files.
constexpr std::array<const char*, 13> kColumns = {
    "seconds",     "loss",          "psnr_batch",    "loss_scale",         "skipped",
    "psnr_unseen", "gradient_norm", "learning_rate", "samples_per_second", "memory",
    "cpu",         "occupied",      "batch"};
constexpr size_t kNeeded = 3;

constexpr int kPictureWidth = 480;  // pixels, at most

/// Parses a number. "inf" and "nan" are accepted: a diverged run writes them.
double number_in(const std::string& text, const char* column, const fs::path& file, unsigned line) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw std::runtime_error(
        fmt::format("{}:{}: column '{}' holds '{}', not a number", file.string(), line, column, text));
  return value;
}

void read_metrics(TrainingRun& run, const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) == 0)
    throw std::runtime_error(
        fmt::format("{}: is not there or empty; name the folder of a klab train run", file.string()));
  std::vector<std::array<double, kColumns.size()>> points;
  try {
    MetricsReader reader(file.string());
    reader.read_header(io::ignore_extra_column | io::ignore_missing_column, kColumns[0], kColumns[1],
                       kColumns[2], kColumns[3], kColumns[4], kColumns[5], kColumns[6], kColumns[7],
                       kColumns[8], kColumns[9], kColumns[10], kColumns[11], kColumns[12]);
    for (size_t i = 0; i < kNeeded; ++i)
      if (!reader.has_column(kColumns[i]))
        throw std::runtime_error(
            fmt::format("{}: has no column '{}'; is it klab train's?", file.string(), kColumns[i]));
    std::array<std::string, kColumns.size()> cells;
    while (reader.read_row(cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7],
                           cells[8], cells[9], cells[10], cells[11], cells[12])) {
      std::array<double, kColumns.size()> point{};
      for (size_t i = 0; i < cells.size(); ++i)
        if (i < kNeeded || !cells[i].empty())
          point[i] = number_in(cells[i], kColumns[i], file, reader.get_file_line());
      if (std::isfinite(point[1]) && std::isfinite(point[2])) points.push_back(point);
      if (point[5] > 0) run.unseen.points.emplace_back(point[0], point[5]);  // few: all are kept
    }
  } catch (const io::error::base& e) {
    throw std::runtime_error(e.what());  // the message names file and line
  }
  // A few hundred points are enough for a curve.
  const size_t step = std::max<size_t>(1, points.size() / 250);
  for (size_t i = 0; i < points.size(); i += step) {
    run.loss.points.emplace_back(points[i][0], points[i][1]);
    run.psnr.points.emplace_back(points[i][0], points[i][2]);
    const auto add = [&](Curve& curve, double value) {
      if (value > 0) curve.points.emplace_back(points[i][0], value);
    };
    add(run.gradient, points[i][6]);
    add(run.rate, points[i][7]);
    add(run.speed, 1e-6 * points[i][8]);
    add(run.memory, 1e-6 * points[i][9]);
    add(run.cpu, 100 * points[i][10]);
    add(run.occupied, 100 * points[i][11]);
    add(run.batch, points[i][12]);
    if (!(points[i][3] > 0)) continue;
    run.scale.points.emplace_back(points[i][0], points[i][3]);
    run.skipped.points.emplace_back(points[i][0], points[i][4]);
  }
  // A batch that stays as it is needs no curve.
  const auto value = [](const auto& point) { return point.second; };
  const auto [least, most] = std::ranges::minmax_element(run.batch.points, {}, value);
  if (least == most || least->second == most->second) run.batch.points.clear();
}

/// Reads the shares of the stages that take most of the time on average. A run of an older klab has no such file.
void read_stages(TrainingRun& run, const fs::path& file) {
  constexpr size_t kDrawn = 6;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return;
  std::map<std::string, Curve> curves;
  try {
    io::CSVReader<3, io::trim_chars<>, io::no_quote_escape<','>> reader(file.string());
    reader.read_header(io::ignore_extra_column, "seconds", "stage", "share");
    std::string seconds, stage, share;
    while (reader.read_row(seconds, stage, share)) {
      const unsigned line = reader.get_file_line();
      curves[stage].points.emplace_back(number_in(seconds, "seconds", file, line),
                                        100 * number_in(share, "share", file, line));
    }
  } catch (const io::error::base& e) {
    throw std::runtime_error(e.what());
  }
  std::vector<std::pair<double, std::string>> largest;
  for (const auto& [stage, curve] : curves) {
    double sum = 0;
    for (const auto& [seconds, share] : curve.points) sum += share;
    largest.emplace_back(sum, stage);
  }
  std::sort(largest.rbegin(), largest.rend());
  largest.resize(std::min(largest.size(), kDrawn));
  for (const auto& [sum, stage] : largest) {
    run.stages.push_back(std::move(curves[stage]));
    run.stages.back().name = stage;
  }
}

}  // namespace

TrainingRun read_training(const std::string& folder, size_t most_pictures) {
  TrainingRun run;
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  run.name = path.filename().string();
  for (Curve* curve : {&run.loss, &run.psnr, &run.scale, &run.skipped, &run.unseen, &run.gradient, &run.rate,
                       &run.speed, &run.memory, &run.cpu, &run.occupied, &run.batch})
    curve->name = run.name;
  const fs::path result = path / "result.json";
  if (std::error_code error; !fs::exists(result, error))
    throw std::runtime_error(
        fmt::format("{}: is not there; name the folder of a klab train run that has ended", result.string()));
  run.result = read_json_file(result);
  if (!run.result.is_object())
    throw std::runtime_error(fmt::format("{}: is no JSON object", result.string()));
  read_metrics(run, path / "metrics.csv");
  read_stages(run, path / "stages.csv");
  if (most_pictures > 0) run.cameras = read_cameras(path / "cameras.json");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".png" && entry.path().filename() != "contact_sheet.png")
      files.push_back(entry.path());
  // Comparisons with the ground truth come first, then depth, then the rest.
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    const auto rank = [](const fs::path& p) {
      const std::string name = p.filename().string();
      if (name.find("depth") != std::string::npos) return 2;
      return name.starts_with("test_") ? 0 : name.starts_with("train_") ? 1 : 3;
    };
    return rank(a) != rank(b) ? rank(a) < rank(b) : a < b;
  });
  for (const fs::path& file : files) {
    if (run.pictures.size() >= most_pictures) break;
    const std::string name = file.filename().string();
    const bool compares = name.starts_with("test_") && name.find("depth") == std::string::npos;
    TrainingPicture picture = compares ? embedded_comparison(file.string(), kPictureWidth)
                                       : embedded_picture(file.string(), kPictureWidth);
    if (!picture.data.empty()) run.pictures.push_back(std::move(picture));
  }
  return run;
}

}  // namespace klab
