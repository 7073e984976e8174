#include "labs/radiance/run/camera_list.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/records/input.h"
#include "labs/radiance/run/evaluation.h"

namespace klab {
namespace {

nlohmann::json rounded_point(Vec3 v) {
  const auto rounded = [](float x) { return std::round(double(x) * 1e5) / 1e5; };
  return {rounded(v.x), rounded(v.y), rounded(v.z)};
}

nlohmann::json camera_entry(const View& view) {
  return {{"name", as_utf8(view.name)},
          {"position", rounded_point(view.camera.position())},
          {"direction", rounded_point(-1.F * view.camera.axis(2))}};
}

}  // namespace

std::string cameras_json(const Scene& scene, const std::vector<int64_t>& scored,
                         const std::vector<ViewScore>& scores) {
  using nlohmann::json;
  std::vector<json> train, test;
  for (const View& view : scene.train) train.push_back(camera_entry(view));
  for (const View& view : scene.test) {
    test.push_back(camera_entry(view));
    test.back()["psnr"] = nullptr;
  }
  for (const ViewScore& score : scores) {
    json& entry = test.at(size_t(score.view));
    if (std::isfinite(score.psnr)) entry["psnr"] = std::round(1e3 * score.psnr) / 1e3;
    if (const std::string file = file_of_view(scored, score.view); !file.empty()) entry["picture"] = file;
  }
  const auto lines = [](const std::vector<json>& entries) {
    std::string text;
    for (const json& entry : entries) text += (text.empty() ? "\n  " : ",\n  ") + entry.dump();
    return "[" + text + "]";
  };
  const json box = {{"low", {0, 0, 0}}, {"high", {1, 1, 1}}};
  return "{\"box\": " + box.dump() + ",\n \"train\": " + lines(train) + ",\n \"test\": " + lines(test) +
         "}\n";
}

}  // namespace klab
