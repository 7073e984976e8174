#include "harness/report/training.h"
#include "harness/records/input.h"

#include <csv.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDrawnPoints = 250;  // enough for a curve
constexpr int kPictureWidth = 480;    // pixels, at most

/// Parses a number. "inf" and "nan" are accepted: a diverged run writes them.
double number_in(const std::string& text, const char* column, const fs::path& file, unsigned line) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw std::runtime_error(
        fmt::format("{}:{}: column '{}' holds '{}', not a number", file.string(), line, column, text));
  return value;
}

/// The numbers of metrics.csv by title; NaN for an empty field.
using Columns = std::map<std::string, std::vector<double>>;

std::vector<std::string> fields_of_line(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) {
    const size_t begin = field.find_first_not_of(" \t\r"), end = field.find_last_not_of(" \t\r");
    fields.push_back(begin == std::string::npos ? "" : field.substr(begin, end + 1 - begin));
  }
  if (line.ends_with(',')) fields.emplace_back();
  return fields;
}

Columns read_columns(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> titles = fields_of_line(line);
  Columns columns;
  for (const std::string& title : titles) columns[title];
  for (unsigned number = 2; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = fields_of_line(line);
    if (fields.size() != titles.size())
      throw std::runtime_error(fmt::format("{}:{}: has {} fields, and there are {} titles", file.string(),
                                           number, fields.size(), titles.size()));
    for (size_t c = 0; c < titles.size(); ++c)
      columns[titles[c]].push_back(fields[c].empty() ? NAN
                                                     : number_in(fields[c], titles[c].c_str(), file, number));
  }
  return columns;
}

/// Returns a curve of at most a few hundred points, without missing values.
Curve thinned(const std::string& name, const std::vector<double>& seconds, const std::vector<double>& values,
              const std::vector<bool>& kept, double scale, bool logarithmic) {
  Curve curve{name, {}};
  for (size_t i = 0; i < values.size(); ++i)
    if (kept[i] && std::isfinite(values[i]) && (values[i] > 0 || !logarithmic))
      curve.points.emplace_back(seconds[i], scale * values[i]);
  const size_t step = std::max<size_t>(1, curve.points.size() / kDrawnPoints);
  for (size_t i = 1; i * step < curve.points.size(); ++i) curve.points[i] = curve.points[i * step];
  curve.points.resize((curve.points.size() + step - 1) / step);
  return curve;
}

/// Finds the planned batch with the highest mean rate, if there was more than one.
void find_best_batch(TrainingRun& run, const Columns& m) {
  if (!m.contains("batch") || !m.contains("samples_per_second")) return;
  std::map<double, std::pair<double, int>> rates;  // sum and number, by batch
  for (size_t i = 0; i < m.at("batch").size(); ++i)
    if (const double rate = m.at("samples_per_second")[i], batch = m.at("batch")[i];
        std::isfinite(rate) && std::isfinite(batch))
      rates[batch].first += rate, ++rates[batch].second;
  if (rates.size() < 2) return;
  for (const auto& [batch, sum] : rates)
    if (const double mean = sum.first / sum.second; mean > run.best_rate)
      run.best_batch = batch, run.best_rate = mean;
}

void read_metrics(TrainingRun& run, const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) == 0)
    throw std::runtime_error(
        fmt::format("{}: is not there or empty; name the folder of a klab train run", file.string()));
  Columns m = read_columns(file);
  for (const char* needed : {"seconds", drawn_columns()[0].column, drawn_columns()[1].column})
    if (!m.contains(needed))
      throw std::runtime_error(
          fmt::format("{}: has no column '{}'; is it klab train's?", file.string(), needed));
  const std::vector<double>& seconds = m["seconds"];
  // A line whose loss is not finite is left out of all curves.
  std::vector<bool> kept(seconds.size());
  for (size_t i = 0; i < seconds.size(); ++i)
    kept[i] = std::isfinite(seconds[i]) && std::isfinite(m[drawn_columns()[0].column][i]) &&
              std::isfinite(m[drawn_columns()[1].column][i]);
  for (const DrawnColumn& c : drawn_columns()) {
    const auto at = m.find(c.column);
    run.curves.push_back(at == m.end()
                             ? Curve{run.name, {}}
                             : thinned(run.name, seconds, at->second, kept, c.scale, c.logarithmic));
    // A batch that stays as it is needs no curve.
    auto& points = run.curves.back().points;
    const auto same = [&](const auto& p) { return p.second == points.front().second; };
    if (std::string_view(c.column) == "batch" && std::ranges::all_of(points, same)) points.clear();
  }
  for (const auto& [title, values] : m) {
    if (!title.starts_with("loss_") || title == "loss_scale") continue;
    Curve term = thinned(title.substr(5), seconds, values, kept, 1, true);
    if (!term.points.empty()) run.terms.push_back(std::move(term));
  }
  if (run.terms.size() < 2) run.terms.clear();
  if (m.contains("gradient_norm") && m.contains("gradient_clipped")) {
    double lines = 0, clipped = 0;
    for (size_t i = 0; i < seconds.size(); ++i)
      if (const double whole = m["gradient_norm"][i]; std::isfinite(whole))
        lines += 1, clipped += m["gradient_clipped"][i] < whole;
    if (lines > 0) run.clipped = clipped / lines;
  }
  find_best_batch(run, m);
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

const std::vector<DrawnColumn>& drawn_columns() {
  static const std::vector<DrawnColumn> list = {
      {"psnr_batch", 1, "dB", "PSNR of the batch, dB", false,
       "PSNR of the rays of each step, not of test views."},
      {"loss", 1, "", "loss", true, "Loss."},
      {"psnr_unseen", 1, "dB", "PSNR of unseen views, dB", false,
       "PSNR of a few reduced test views, on which it was not trained."},
      {"ssim_unseen", 1, "", "SSIM of unseen views", false, "Structural similarity of the same views."},
      {"gradient_norm", 1, "", "length of the gradient", true, "Length of the gradient before clipping."},
      {"learning_rate", 1, "", "learning rate", true, "Learning rate."},
      {"samples_per_second", 1e-6, "M", "M samples a second", false,
       "Samples a second through the whole step."},
      {"memory", 1e-6, "MB", "memory of the process, MB", false,
       "Memory of the process; the largest and the planned bytes stand below."},
      {"device_used", 1e-6, "MB", "used memory of the GPU, MB", false,
       "Memory of the GPU that all programs use."},
      {"device_free", 1e-6, "MB", "free memory of the GPU, MB", false, "Memory of the GPU that is left."},
      {"device_busy", 100, "%", "GPU in use, %", false, "Share of the time in which the GPU ran a kernel."},
      {"cpu", 100, "%", "processor in use, %", false, "Processor in use, of all threads."},
      {"occupied", 100, "%", "occupied cells, %", false,
       "Share of the volume that is not known to be empty."},
      {"batch", 1, "", "samples of a step, planned", false,
       "Samples that a step aims at: fewer where memory was short."},
      {"loss_scale", 1, "", "loss scale", true,
       "What the loss is multiplied by in half precision: it halves where gradients overflow."},
      {"skipped", 1, "", "steps left out", false, "Steps left out because their gradients were not finite."}};
  return list;
}

const Curve& curve_of(const TrainingRun& run, std::string_view column) {
  const auto at = std::ranges::find_if(drawn_columns(), [&](const auto& c) { return column == c.column; });
  return run.curves.at(size_t(at - drawn_columns().begin()));
}

TrainingRun read_training(const std::string& folder, size_t most_pictures) {
  TrainingRun run;
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  run.name = path.filename().string();
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
    const bool compares =
        (name.starts_with("test_") || name.starts_with("train_")) && name.find("depth") == std::string::npos;
    TrainingPicture picture = compares ? embedded_comparison(file.string(), kPictureWidth)
                                       : embedded_picture(file.string(), kPictureWidth);
    if (!picture.data.empty()) run.pictures.push_back(std::move(picture));
  }
  return run;
}

}  // namespace klab
