#include "labs/radiance/scene/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

namespace fs = std::filesystem;

double aspect(ImageSize size) { return double(size.width) / size.height; }

/// Returns whether a picture has the aspect ratio that a camera was calibrated for.
bool fits(ImageSize picture, ImageSize stated) {
  return std::abs(aspect(picture) / aspect(stated) - 1) <= 0.02;
}

/// Returns whether the pixels' stored order is the one to use.
bool counts_as_stored(const PictureHeader& header, std::optional<ImageSize> stated) {
  if (header.orientation == 1 || !stated) return false;
  return fits(header.stored, *stated) || !fits(header.upright(), *stated);
}

}  // namespace

void Frames::hold_out(int holdout) {
  if (holdout <= 0 || train.size() < 2) return;
  std::vector<Frame> kept;
  for (size_t i = 0; i < train.size(); ++i) (i % size_t(holdout) == 0 ? test : kept).push_back(train[i]);
  train = std::move(kept);
}

fs::path picture_in(const fs::path& folder, const std::string& name) {
  for (const char* extension : {"", ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"}) {
    const fs::path candidate = folder / (name + extension);
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return {};
}

void take_points(Scene& scene, PointCloud cloud) {
  scene.points = std::move(cloud.points);
  if (cloud.left_out > 0)
    scene.notes.push_back(
        fmt::format("{} points have coordinates that are no places and are left out", cloud.left_out));
  if (scene.points.empty()) scene.notes.emplace_back("the scene's file of points holds none");
}

const PictureHeader& PictureFinder::header_of(const fs::path& file) {
  const auto [at, fresh] = headers_.try_emplace(file.native());
  if (fresh) at->second = picture_header(file);
  return at->second;
}

std::optional<Frame> PictureFinder::find(const std::string& name, std::optional<ImageSize> stated,
                                         std::optional<ImageSize> shape) {
  Frame frame;
  frame.name = name;
  frame.image = picture_in(root_, name);
  if (frame.image.empty()) {
    if (missing_++ == 0) first_missing_ = name;
    return std::nullopt;
  }
  const PictureHeader& header = header_of(frame.image);
  frame.as_stored = counts_as_stored(header, stated);
  frame.jpeg = header.jpeg;
  frame.factor = downscale_;
  const ImageSize size = frame.as_stored ? header.stored : header.upright();
  if (stated) shape = stated;
  if (shape && !fits(size, *shape)) {
    if (odd_++ == 0)
      first_odd_ = fmt::format("{} is {}x{}, of another shape than the camera says: such frames are left out",
                               name, size.width, size.height);
    return std::nullopt;
  }
  frame.camera.width = size.width;
  frame.camera.height = size.height;
  if (header.orientation != 1) ++(frame.as_stored ? as_stored_ : turned_);
  if (downscale_ == 1 || header.orientation != 1) return frame;
  const std::optional<Frame> copy = smaller_copy(name, size);
  if (copy) ++copies_;
  return copy ? copy : frame;
}

std::optional<Frame> PictureFinder::smaller_copy(const std::string& name, ImageSize full) {
  const fs::path whole = fs::path(name).lexically_normal();
  if (whole.empty() || *whole.begin() != "images") return std::nullopt;
  for (int smaller = downscale_; smaller > 1; --smaller) {
    if (downscale_ % smaller != 0) continue;
    fs::path beside = fmt::format("images_{}", smaller);
    for (auto part = std::next(whole.begin()); part != whole.end(); ++part) beside /= *part;
    const fs::path file = picture_in(root_, beside.string());
    if (file.empty()) continue;
    const PictureHeader& header = header_of(file);
    const ImageSize size = header.upright();
    // Some programs round, some truncate.
    if (std::abs(size.width * smaller - full.width) >= 2 * smaller ||
        std::abs(size.height * smaller - full.height) >= 2 * smaller)
      continue;
    Frame frame{.image = file, .name = name, .jpeg = header.jpeg, .factor = downscale_ / smaller};
    frame.camera.width = size.width;
    frame.camera.height = size.height;
    return frame;
  }
  return std::nullopt;
}

std::vector<std::string> PictureFinder::notes(const std::string& what, size_t all) const {
  std::vector<std::string> lines;
  if (odd_ > 0) lines.push_back(fmt::format("{}: {}", what, first_odd_));
  if (missing_ > 0)
    lines.push_back(fmt::format("{}: {} of {} frames have no picture (first: {}) and are left out", what,
                                missing_, all, first_missing_));
  if (odd_ > 1) lines.push_back(fmt::format("{} frames of another shape in all", odd_));
  if (turned_ > 0)
    lines.push_back(fmt::format("{} pictures are turned upright as their EXIF orientation says", turned_));
  if (as_stored_ > 0)
    lines.push_back(
        fmt::format("{} pictures have an EXIF orientation and are read as they are stored, as their "
                    "camera was measured",
                    as_stored_));
  if (copies_ > 0)
    lines.push_back(fmt::format("{} pictures are read from smaller copies beside them (images_N)", copies_));
  return lines;
}

}  // namespace klab
