#include "harness/report/training.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace klab {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

size_t column_of(const std::vector<std::string>& header, const char* name, const fs::path& file) {
  const auto at = std::find(header.begin(), header.end(), name);
  if (at == header.end())
    throw std::runtime_error(fmt::format("{}: has no column '{}'; is it klab train's?", file.string(), name));
  return size_t(at - header.begin());
}

void read_metrics(TrainingRun& run, const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line))
    throw std::runtime_error(
        fmt::format("{}: is not there or empty; name the folder of a klab train run", file.string()));
  const auto header = cells_of(line);
  const size_t seconds = column_of(header, "seconds", file), loss = column_of(header, "loss", file),
               psnr = column_of(header, "psnr_batch", file);
  std::vector<std::array<double, 3>> points;
  for (int number = 2; std::getline(in, line); ++number) {
    const auto cells = cells_of(line);
    std::array<double, 3> point{};
    for (size_t i = 0; const size_t column : {seconds, loss, psnr}) {
      const std::string text = column < cells.size() ? cells[column] : "";
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), point[i++]);
      if (error != std::errc() || end != text.data() + text.size())
        throw std::runtime_error(fmt::format("{}:{}: column '{}' holds '{}', not a number", file.string(),
                                             number, header[column], text));
    }
    if (std::isfinite(point[1]) && std::isfinite(point[2])) points.push_back(point);
  }
  // A curve of a few hundred points shows all there is to see.
  const size_t step = std::max<size_t>(1, points.size() / 250);
  for (size_t i = 0; i < points.size(); i += step) {
    run.loss.points.emplace_back(points[i][0], points[i][1]);
    run.psnr.points.emplace_back(points[i][0], points[i][2]);
  }
}

}  // namespace

TrainingRun read_training(const std::string& folder, size_t most_pictures) {
  TrainingRun run;
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  run.name = path.filename().string();
  run.loss.name = run.psnr.name = run.name;
  const fs::path result = path / "result.json";
  std::ifstream in(result);
  if (!in)
    throw std::runtime_error(
        fmt::format("{}: is not there; name the folder of a klab train run that has ended", result.string()));
  run.result = nlohmann::json::parse(in, nullptr, false);
  if (!run.result.is_object())
    throw std::runtime_error(fmt::format("{}: is no JSON object", result.string()));
  read_metrics(run, path / "metrics.csv");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".png") files.push_back(entry.path());
  // Pictures beside the truth first, then depth, then the rest.
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    const auto rank = [](const fs::path& p) {
      const std::string name = p.filename().string();
      return name.find("depth") != std::string::npos ? 1 : name.starts_with("test_") ? 0 : 2;
    };
    return rank(a) != rank(b) ? rank(a) < rank(b) : a < b;
  });
  for (const fs::path& file : files) {
    if (run.pictures.size() >= most_pictures) break;
    TrainingPicture picture = embedded_picture(file.string(), 480);
    if (!picture.data.empty()) run.pictures.push_back(std::move(picture));
  }
  return run;
}

}  // namespace klab
