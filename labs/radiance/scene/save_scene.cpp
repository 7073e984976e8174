#include "labs/radiance/scene/save_scene.h"

#include <nlohmann/json.hpp>

#include "harness/records/atomic_file.h"
#include "labs/radiance/scene/image.h"

namespace klab {
namespace {

using nlohmann::json;

void save_views(const std::filesystem::path& folder, const std::vector<View>& views, const char* file) {
  // Scale and offset say that the file's world is the grid.
  json document = {{"scale", 1}, {"offset", {0, 0, 0}}, {"frames", json::array()}};
  for (const View& view : views) {
    const Camera& c = view.camera;
    save_png(folder / (view.name + ".png"), view.image.width, view.image.height, 4, view.image.rgba);
    json matrix = json::array();
    for (size_t row = 0; row < 3; ++row)
      matrix.push_back({c.pose[4 * row], c.pose[4 * row + 1], c.pose[4 * row + 2], c.pose[4 * row + 3]});
    matrix.push_back({0, 0, 0, 1});
    document["frames"].push_back({{"file_path", "./" + view.name + ".png"},
                                  {"fl_x", c.fx},
                                  {"fl_y", c.fy},
                                  {"cx", c.cx},
                                  {"cy", c.cy},
                                  {"w", c.width},
                                  {"h", c.height},
                                  {"transform_matrix", matrix}});
  }
  write_file(folder / file, document.dump(1) + "\n");
}

}  // namespace

void save_scene(const std::filesystem::path& folder, const Scene& scene) {
  save_views(folder, scene.train, "transforms_train.json");
  save_views(folder, scene.test, "transforms_test.json");
}

}  // namespace klab
