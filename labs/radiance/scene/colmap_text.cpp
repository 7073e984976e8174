// COLMAP's models as text: one line for a camera, two for an image, one for a point; lines that begin with #
// are comments.
#include <fmt/format.h>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/colmap_model.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBytesColmapText = 8'000'000'000;  // of a file
constexpr Range kNumbers{0, 4294967295.0};               // numbers of cameras
constexpr size_t kMostParameters = 64;
constexpr const char* kCorrect = "correct the line, or export the model again";

/// The lines of a text, with their numbers.
class Lines {
 public:
  explicit Lines(const fs::path& file)
      : file_(file), text_(read_input(file, kMostBytesColmapText)), left_(text_) {
    if (left_.starts_with("\xEF\xBB\xBF")) left_.remove_prefix(3);  // the mark that editors of Windows write
  }

  bool next(std::string_view& line) {
    if (left_.empty()) return false;
    const size_t end = left_.find('\n');
    line = left_.substr(0, end);
    left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
    ++number_;
    return true;
  }
  /// Returns the next line that is neither a comment nor empty.
  bool next_with_words(std::string_view& line) {
    while (next(line)) {
      const std::string_view first = Words(line).next();
      if (!first.empty() && first[0] != '#') return true;
    }
    return false;
  }
  /// Makes next() return the present line again.
  void back(std::string_view line) {
    left_ = std::string_view(line.data(), size_t(text_.data() + text_.size() - line.data()));
    --number_;
  }
  std::string line_number() const { return fmt::format("line {}", number_); }
  ColmapRecord record(const std::string& what = "") const { return {file_, line_number() + what}; }
  [[noreturn]] void refuse(const std::string& why, const std::string& remedy) const {
    throw Refused(file_, line_number(), line_number() + ": " + why, remedy);
  }

 private:
  const fs::path file_;
  const std::string text_;
  std::string_view left_;
  int64_t number_ = 0;
};

double number(const Lines& lines, Words& words, const char* name) {
  const std::string_view word = words.next();
  double value = 0;
  if (!read_number(word, value))
    lines.refuse(fmt::format("{} must be a number, found '{}'", name, excerpt(word)), kCorrect);
  return value;
}

uint32_t camera_number(const Lines& lines, Words& words) {
  const double value = number(lines, words, "CAMERA_ID");
  if (!within(value, kNumbers) || value != double(uint32_t(value)))
    lines.refuse(fmt::format("CAMERA_ID must be a whole number {}, found {}", text_of(kNumbers), value),
                 kCorrect);
  return uint32_t(value);
}

void read_cameras_colmap_text(const fs::path& file, ColmapModel& model) {
  Lines lines(file);
  std::string_view line;
  while (lines.next_with_words(line)) {
    Words words(line);
    const uint32_t id = camera_number(lines, words);
    const std::string_view name = words.next();
    const LensModel* lens = lens_model(name);
    if (lens == nullptr)
      lines.refuse(fmt::format("camera {} has the camera model {}", id, unknown_lens(name)), kUndistort);
    const double width = number(lines, words, "WIDTH"), height = number(lines, words, "HEIGHT");
    std::vector<double> parameters;
    while (!words.rest().empty() && parameters.size() < kMostParameters)
      parameters.push_back(number(lines, words, "a parameter"));
    add_colmap_camera(model, id, *lens, width, height, parameters,
                      lines.record(fmt::format(": camera {}", id)));
  }
}

enum class AfterImage { points, image };

/// Decides what the line behind an image is: its points in the picture (triples X Y POINT3D_ID, or nothing), or the
/// next image, where a tool wrote poses only. Refuses a line that is neither.
AfterImage line_after_image(const Lines& lines, std::string_view line, const ColmapModel& model) {
  Words words(line);
  size_t count = 0;
  double value = 0, camera = -1;
  bool numbers = true;
  for (std::string_view word = words.next(); !word.empty(); word = words.next(), ++count) {
    const bool number = read_number(word, value);
    if (count < 9 && !number)
      lines.refuse(
          fmt::format(
              "follows an image and is neither its points, triples X Y POINT3D_ID, nor the next image; "
              "found '{}'",
              excerpt(word)),
          "write the line of points, which may be empty, behind each image");
    if (count == 8) camera = value;
    numbers = numbers && number;
  }
  if (numbers && count % 3 == 0) return AfterImage::points;
  const bool image =
      count > 9 && within(camera, kNumbers) && (!numbers || model.cameras.contains(uint32_t(camera)));
  if (!image)
    lines.refuse(fmt::format("has {} numbers; points of an image are triples X Y POINT3D_ID", count),
                 kCorrect);
  return AfterImage::image;
}

void read_images_colmap_text(const fs::path& file, ColmapModel& model) {
  Lines lines(file);
  std::string_view line;
  while (lines.next_with_words(line)) {
    Words words(line);
    const double id = number(lines, words, "IMAGE_ID");
    std::array<double, 4> rotation{};
    std::array<double, 3> translation{};
    for (double& q : rotation) q = number(lines, words, "a number of the rotation");
    for (double& t : translation) t = number(lines, words, "a number of the translation");
    const uint32_t camera = camera_number(lines, words);
    add_colmap_image(model, rotation, translation, camera, std::string(words.rest()), lines.record());
    model.images.back().id = within(id, kNumbers) ? uint32_t(id) : 0;
    bool more = lines.next(line);
    while (more && Words(line).next().starts_with('#')) more = lines.next(line);
    if (!more || line_after_image(lines, line, model) == AfterImage::points) continue;
    ++model.without_points;
    lines.back(line);
  }
}

PointCloud read_points_colmap_text(const fs::path& file, const WorldPosition& origin) {
  PointCloud cloud;
  cloud.origin = origin;
  Lines lines(file);
  std::string_view line;
  while (lines.next_with_words(line)) {
    Words words(line);
    number(lines, words, "POINT3D_ID");
    double place[3];
    for (double& p : place) p = number(lines, words, "a coordinate");
    std::array<uint8_t, 3> rgb{};
    for (uint8_t& level : rgb) {
      const double value = number(lines, words, "a color");
      if (!within(value, {0, 255}))
        lines.refuse(fmt::format("a color must be from 0 to 255, found {}", value), kCorrect);
      level = uint8_t(value);
    }
    // Behind the error pairs IMAGE_ID POINT2D_IDX; tools that thin models out leave them away.
    std::vector<uint32_t> images;
    if (!words.rest().empty()) number(lines, words, "ERROR");
    while (!words.rest().empty()) {
      const double image = number(lines, words, "IMAGE_ID of a point");
      if (within(image, kNumbers)) images.push_back(uint32_t(image));
      if (!words.rest().empty()) number(lines, words, "POINT2D_IDX");
    }
    cloud.add(place[0], place[1], place[2], rgb, images);
  }
  return cloud;
}

}  // namespace

void read_colmap_text(ColmapModel& model) {
  read_cameras_colmap_text(model.cameras_file(), model);
  read_images_colmap_text(model.images_file(), model);
  sort_colmap_images(model);
  const fs::path points = model.folder / "points3D.txt";
  std::error_code ignored;
  if (fs::exists(points, ignored)) model.cloud = read_points_colmap_text(points, model.origin());
}

}  // namespace klab
