// The cameras of a training, drawn from above and from the side.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace klab {

/// The content of a run's cameras.json. Lengths are in sides of the scene's box of interest.
struct CameraPlot {
  struct Camera {
    std::string name;
    std::array<double, 3> position{}, direction{};
    std::optional<double> psnr;  // dB, of a test view that was scored
    std::string picture;         // file with its pictures; empty if there is none
  };
  std::vector<Camera> train, test;
  std::array<double, 3> low{}, high{};  // of the box
};

/// Reads cameras.json; nothing if there is no such file, as in folders of an earlier klab. Throws std::runtime_error naming the
/// file, the field and the remedy.
std::optional<CameraPlot> read_cameras(const std::filesystem::path& file);

/// Returns the test views with the poorest PSNR, poorest first: at most three, and at most half of those with a score.
std::vector<size_t> poorest_views(const CameraPlot& plot);

/// Returns the figures of a page: from above and from the side, with the box; training and test cameras differ in shape and
/// color, and the poorest test views have a ring and their PSNR. At most 400 training cameras are drawn, evenly spread.
std::string cameras_html(const CameraPlot& plot);

}  // namespace klab
