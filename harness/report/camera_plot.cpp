#include "harness/report/camera_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/report/ladder_view.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kSide = 360, kMargin = 30;  // of a drawing, in its units
constexpr size_t kMostDrawn = 400;           // training cameras
constexpr size_t kMostPoor = 3;
constexpr double kRay = 13;        // length of the line in viewing direction
constexpr double kMostPsnr = 1e3;  // dB
constexpr double kFarthest = 1e9;  // a coordinate that is larger is not one of a scene
// The colors of the other plots, with contrast to white and to black.
constexpr const char *kTrain = "#3b7dd8", *kTest = "#e07b00", *kPoor = "#d9534f";

class CamerasFile {
 public:
  explicit CamerasFile(const fs::path& file) : file_(file) {}

  CameraPlot plot(const json& whole) const {
    CameraPlot out;
    const json& box = at(whole, "box", "");
    out.low = point(box, "low", "box.");
    out.high = point(box, "high", "box.");
    out.train = cameras(whole, "train");
    out.test = cameras(whole, "test");
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& field, const std::string& why) const {
    throw std::runtime_error(fmt::format(
        "{}: {}: {}: train the run again, or delete this file for a report without a plot of the cameras",
        file_.string(), field, why));
  }
  const json& at(const json& j, const char* key, const std::string& in) const {
    if (!j.is_object() || !j.contains(key)) refuse(in + key, "is missing");
    return j.at(key);
  }
  std::array<double, 3> point(const json& j, const char* key, const std::string& in) const {
    const json& v = at(j, key, in);
    std::array<double, 3> out{};
    bool good = v.is_array() && v.size() == 3;
    for (size_t i = 0; good && i < 3; ++i) {
      good = v[i].is_number();
      if (good) out[i] = v[i].get<double>();
      good = good && std::abs(out[i]) <= kFarthest;
    }
    if (!good) refuse(in + key, "is not three numbers of a scene");
    return out;
  }
  std::vector<CameraPlot::Camera> cameras(const json& whole, const char* key) const {
    const json& list = at(whole, key, "");
    if (!list.is_array()) refuse(key, "is no list");
    std::vector<CameraPlot::Camera> out;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string in = fmt::format("{}[{}].", key, i);
      CameraPlot::Camera camera;
      const json& name = at(list[i], "name", in);
      if (!name.is_string()) refuse(in + "name", "is no text");
      camera.name = name.get<std::string>();
      camera.position = point(list[i], "position", in);
      camera.direction = point(list[i], "direction", in);
      if (list[i].contains("psnr") && !list[i]["psnr"].is_null()) {
        const json& psnr = list[i]["psnr"];
        if (!psnr.is_number() || !(std::abs(psnr.get<double>()) <= kMostPsnr))
          refuse(in + "psnr", "is no PSNR in dB");
        camera.psnr = psnr.get<double>();
      }
      if (list[i].contains("picture") && list[i]["picture"].is_string())
        camera.picture = list[i]["picture"].get<std::string>();
      out.push_back(std::move(camera));
    }
    return out;
  }

  fs::path file_;
};

/// Places of a drawing: x to the right, another axis up, at one scale for both.
class CameraProjection {
 public:
  CameraProjection(const CameraPlot& plot, size_t up) : up_(up) {
    std::array<double, 2> low = {plot.low[0], plot.low[up]}, high = {plot.high[0], plot.high[up]};
    for (const auto* cameras : {&plot.train, &plot.test})
      for (const CameraPlot::Camera& c : *cameras)
        for (size_t k = 0; k < 2; ++k) {
          const double at = c.position[k == 0 ? 0 : up];
          low[k] = std::min(low[k], at);
          high[k] = std::max(high[k], at);
        }
    scale_ = (kSide - 2 * kMargin) / std::max({high[0] - low[0], high[1] - low[1], 1e-9});
    for (size_t k = 0; k < 2; ++k) middle_[k] = (low[k] + high[k]) / 2;
  }
  std::array<double, 2> place(const std::array<double, 3>& p) const {
    return {kSide / 2 + scale_ * (p[0] - middle_[0]), kSide / 2 - scale_ * (p[up_] - middle_[1])};
  }
  /// Returns the line that a camera's viewing direction has in the drawing: shorter where it leads out of its plane.
  std::array<double, 2> ray(const std::array<double, 3>& d) const { return {kRay * d[0], -kRay * d[up_]}; }

 private:
  size_t up_;
  double scale_;
  std::array<double, 2> middle_{};
};

std::string title_of(const CameraPlot::Camera& c, const char* kind) {
  return fmt::format("<title>{}, {}{}</title>", escaped(c.name), kind,
                     c.psnr ? fmt::format(", {:.2f} dB", *c.psnr) : "");
}

std::string drawing_of(const CameraPlot& plot, size_t up, const std::string& label) {
  const CameraProjection projection(plot, up);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {0}\" role=\"img\" aria-label=\"{1}\" font-size=\"12\" "
      "fill=\"currentColor\">\n",
      kSide, escaped(label));
  const auto low = projection.place(plot.low), high = projection.place(plot.high);
  svg += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
      "stroke=\"currentColor\" "
      "stroke-dasharray=\"5 4\"><title>the box of interest</title></rect>\n",
      low[0], high[1], high[0] - low[0], low[1] - high[1]);
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">x →</text><text x=\"4\" y=\"14\">{} ↑</text>\n", kSide - 4,
      kSide - 6, up == 1 ? "y" : "z");
  const auto line_of = [&](const CameraPlot::Camera& c, const char* color) {
    const auto p = projection.place(c.position), d = projection.ray(c.direction);
    return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}\" stroke=\"{}\"/>", p[0], p[1], d[0], d[1],
                       color);
  };
  const size_t count = plot.train.size(), drawn = std::min(count, kMostDrawn);
  for (size_t i = 0; i < drawn; ++i) {
    const CameraPlot::Camera& c = plot.train[i * count / drawn];
    const auto p = projection.place(c.position);
    svg += fmt::format(
        "<g class=\"train\">{}{}<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.8\" fill=\"none\" "
        "stroke=\"{}\"/></g>\n",
        title_of(c, "for training"), line_of(c, kTrain), p[0], p[1], kTrain);
  }
  for (const CameraPlot::Camera& c : plot.test) {
    const auto p = projection.place(c.position);
    svg += fmt::format(
        "<g class=\"test\">{}{}<path d=\"M{:.1f} {:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z\" fill=\"{}\"/></g>\n",
        title_of(c, "test view"), line_of(c, kTest), p[0], p[1] - 4.5, kTest);
  }
  for (const size_t i : poorest_views(plot)) {
    const CameraPlot::Camera& c = plot.test[i];
    const auto p = projection.place(c.position);
    const bool right = p[0] < kSide / 2;  // the label leads to the middle, where there is room
    svg += fmt::format(
        "<g class=\"poor\">{}<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"8.5\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"2\"/><text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"halo\">{:.1f} "
        "dB</text></g>\n",
        title_of(c, "test view"), p[0], p[1], kPoor, p[0] + (right ? 12 : -12), p[1] + 4,
        right ? "start" : "end", *c.psnr);
  }
  return svg + "</svg>";
}

}  // namespace

std::optional<CameraPlot> read_cameras(const fs::path& file) {
  if (std::error_code error; !fs::exists(file, error)) return std::nullopt;
  return CamerasFile(file).plot(read_json_file(file));
}

std::vector<size_t> poorest_views(const CameraPlot& plot) {
  std::vector<size_t> views;
  for (size_t i = 0; i < plot.test.size(); ++i)
    if (plot.test[i].psnr) views.push_back(i);
  std::ranges::stable_sort(views, {}, [&](size_t i) { return *plot.test[i].psnr; });
  views.resize(std::min(kMostPoor, views.size() / 2));
  return views;
}

std::string cameras_html(const CameraPlot& plot) {
  const size_t drawn = std::min(plot.train.size(), kMostDrawn);
  std::string legend = fmt::format(
      "<span style=\"color:{}\">○</span> training ({}{}), <span style=\"color:{}\">◆</span> test ({}); a "
      "line leads "
      "where a camera sees; dashed: the box of interest.",
      kTrain, drawn < plot.train.size() ? fmt::format("{} of ", drawn) : "", plot.train.size(), kTest,
      plot.test.size());
  std::string poor;
  for (const size_t i : poorest_views(plot))
    poor += fmt::format("{}{} ({:.2f} dB)", poor.empty() ? "" : ", ", escaped(plot.test[i].name),
                        *plot.test[i].psnr);
  if (!poor.empty())
    legend += fmt::format(" <span style=\"color:{}\">Rings</span>: the poorest test views, {}.", kPoor, poor);
  return fmt::format(
      "<h4>Cameras</h4>\n<div class=\"plots cameras\">\n<figure>{}<figcaption>From above. "
      "{}</figcaption></figure>\n"
      "<figure>{}<figcaption>From the side.</figcaption></figure>\n</div>\n",
      drawing_of(plot, 1, "cameras from above"), legend, drawing_of(plot, 2, "cameras from the side"));
}

}  // namespace klab
