#include "labs/radiance/scene/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "harness/records/input.h"

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

std::vector<WorldPosition> Frames::positions() const {
  std::vector<WorldPosition> all;
  for (const auto* set : {&train, &test})
    for (const Frame& frame : *set) all.push_back(frame.at);
  return all;
}

std::string with_slashes(std::string name) {
  std::ranges::replace(name, '\\', '/');
  return name;
}

fs::path picture_in(const fs::path& folder, const std::string& name) {
  for (const char* extension : {"", ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"}) {
    const fs::path candidate = folder / (name + extension);
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return name.find('\\') == std::string::npos ? fs::path() : picture_in(folder, with_slashes(name));
}

void subtract_origin(Scene& scene, Frames& frames) {
  const WorldPosition& o = scene.origin;
  for (auto* set : {&frames.train, &frames.test})
    for (Frame& frame : *set)
      for (size_t k = 0; k < 3; ++k) frame.camera.pose[4 * k + 3] = float(frame.at[k] - o[k]);
  if (scene.far_away())
    scene.notes.push_back(fmt::format(
        "the cameras stand around {}, where floats are coarse: this origin is subtracted in double "
        "precision, and files that are written name it as their offset",
        position_text(o)));
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
    if (odd_++ == 0) first_odd_ = {name, size, *shape};
    if (stated && fits({size.height, size.width}, *shape)) ++exchanged_;
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
  const fs::path whole = fs::path(with_slashes(name)).lexically_normal();
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

namespace {

/// Returns whether a name is a path of another machine: with a drive of Windows, or absolute.
bool of_another_machine(const std::string& name) {
  const bool drive = name.size() > 2 && std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
                     name[1] == ':' && (name[2] == '\\' || name[2] == '/');
  return drive || name.starts_with("\\\\") || name.starts_with('/');
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

/// Finds a picture that may be meant by a name: of the same leaf, or one that differs in upper and lower case only, in the
/// named folder, in the scene's, or in one of its usual ones. Returns its path below the scene's folder; empty without one.
std::string lies_here(const fs::path& root, const std::string& name) {
  const fs::path meant = with_slashes(name);
  const std::string leaf = meant.filename().string();
  std::vector<fs::path> folders = {root, root / "images", root / "train"};
  if (!of_another_machine(name)) folders.insert(folders.begin(), root / meant.parent_path());
  for (const fs::path& folder : folders) {
    if (const fs::path here = picture_in(folder, leaf); !here.empty())
      return here.lexically_relative(root).string();
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (const std::string other = entry.path().filename().string(); lower_case(other) == lower_case(leaf))
        return entry.path().lexically_relative(root).string();
  }
  return "";
}

}  // namespace

Refused PictureFinder::none_usable(const fs::path& file, size_t all, const std::string& field,
                                   const std::string& size) const {
  const auto text = [](ImageSize s) { return fmt::format("{}x{}", s.width, s.height); };
  const std::string none =
      fmt::format("none of its {} {} has a usable picture", all, field == "NAME" ? "images" : "frames");
  if (odd_ > 0) {
    const bool turned = exchanged_ == odd_;
    return {file, size,
            fmt::format("{}: {} is {}, and {} say {} ({} {} have another shape{})", none, first_odd_.name,
                        text(first_odd_.is), size, text(first_odd_.stated), odd_,
                        odd_ == 1 ? "picture" : "pictures", turned ? ": width and height are exchanged" : ""),
            turned
                ? fmt::format(
                      "exchange {}, and with them focal lengths and center, or turn the pictures back", size)
                : fmt::format("correct {}, or bring the pictures that the camera was calibrated with", size)};
  }
  const bool foreign = of_another_machine(first_missing_);
  if (const std::string here = lies_here(root_, first_missing_); !here.empty())
    return {file, field,
            fmt::format("{}: its {} \"{}\" is {}, and {} lies here", none, field, excerpt(first_missing_),
                        foreign ? "a path of another machine" : "no file", here),
            fmt::format("write {} below this folder, \"{}\" for example", field, here)};
  return {file, field,
          fmt::format("{} (first looked for by {}: {})", none, field, (root_ / first_missing_).string()),
          "bring the pictures to where the file names them, or correct the names"};
}

std::vector<std::string> PictureFinder::notes(const std::string& what, size_t all) const {
  std::vector<std::string> lines;
  if (odd_ > 0)
    lines.push_back(fmt::format(
        "{}: {} is {}x{}, of another shape than the camera says ({}x{}): such frames are left out", what,
        first_odd_.name, first_odd_.is.width, first_odd_.is.height, first_odd_.stated.width,
        first_odd_.stated.height));
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
    lines.push_back(fmt::format("{} pictures are read from smaller copies next to them (images_N)", copies_));
  return lines;
}

}  // namespace klab
