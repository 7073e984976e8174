// COLMAP's models as binary files: little-endian, without padding, each a count of 64 bits and that many
// records.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/colmap_model.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr int64_t kMostBytes = 16'000'000'000;  // of a file
// The fewest bytes of a record: a camera's three parameters, an image's name of one letter, a point without a
// track.
constexpr uint64_t kCamera = 24 + 3 * 8, kImage = 64 + 2 + 8, kPoint = 8 + 24 + 3 + 8 + 8;
constexpr uint64_t kPointInPicture = 24, kTrackElement = 8;

/// Reads a file's bytes in order.
class Bytes {
 public:
  explicit Bytes(const fs::path& file) : file_(file), bytes_(read_bytes(file, kMostBytes)) {}

  template <class T>
  T next(const char* what) {
    T value;
    std::memcpy(&value, take(sizeof value, what), sizeof value);
    return value;
  }
  const uint8_t* take(uint64_t size, const char* what) {
    if (size > left()) refuse(what, fmt::format("is cut: it ends within {}", what));
    const uint8_t* begin = bytes_.data() + at_;
    at_ += size;
    return begin;
  }
  /// Reads a number of records, and checks that there is room for them.
  uint64_t count(uint64_t least, const char* what) {
    const auto n = next<uint64_t>("a count");
    if (n > left() / least)
      refuse(what, fmt::format("announces {} {} and has room for {} at most", n, what, left() / least));
    return n;
  }
  std::string text(const char* what) {
    const auto* begin = reinterpret_cast<const char*>(bytes_.data() + at_);
    const size_t length = strnlen(begin, size_t(left()));
    take(length + 1, what);  // with the 0 at its end
    return {begin, length};
  }
  uint64_t left() const { return bytes_.size() - at_; }
  void require_end() const {
    if (left() > 0) refuse("its last record", fmt::format("has {} bytes behind its last record", left()));
  }
  ColmapRecord record(const char* what, uint64_t number) const {
    return {file_, fmt::format("{} {}", what, number)};
  }
  [[noreturn]] void refuse(
      const std::string& field, const std::string& why,
      const std::string& remedy = "copy the file again, or export the model again") const {
    throw Refused(file_, field, why, remedy);
  }

 private:
  const fs::path file_;
  const std::vector<uint8_t> bytes_;
  uint64_t at_ = 0;
};

void read_cameras(const fs::path& file, ColmapModel& model) {
  Bytes bytes(file);
  const uint64_t n = bytes.count(kCamera, "cameras");
  for (uint64_t i = 0; i < n; ++i) {
    const auto id = bytes.next<uint32_t>("a camera");
    const auto number = bytes.next<int32_t>("a camera");
    const LensModel* lens = lens_model(number);
    if (lens == nullptr)
      bytes.refuse(fmt::format("camera {}", id),
                   fmt::format("camera {} has the camera model {}", id, unknown_lens(number)), kUndistort);
    const auto width = double(bytes.next<uint64_t>("a camera")),
               height = double(bytes.next<uint64_t>("a camera"));
    std::vector<double> parameters(size_t(lens->parameters));
    for (double& p : parameters) p = bytes.next<double>("a camera's parameters");
    add_colmap_camera(model, id, *lens, width, height, parameters, bytes.record("camera", id));
  }
  bytes.require_end();
}

void read_images(const fs::path& file, ColmapModel& model) {
  Bytes bytes(file);
  const uint64_t n = bytes.count(kImage, "images");
  for (uint64_t i = 0; i < n; ++i) {
    const auto id = bytes.next<uint32_t>("an image");
    std::array<double, 4> rotation{};
    std::array<double, 3> translation{};
    for (double& q : rotation) q = bytes.next<double>("an image");
    for (double& t : translation) t = bytes.next<double>("an image");
    const auto camera = bytes.next<uint32_t>("an image");
    std::string name = bytes.text("an image's name");
    const uint64_t points = bytes.count(kPointInPicture, "points of an image");
    bytes.take(points * kPointInPicture, "an image's points");
    add_colmap_image(model, rotation, translation, camera, std::move(name), bytes.record("image", id));
    model.images.back().id = id;
  }
  bytes.require_end();
}

PointCloud read_points(const fs::path& file, const WorldPosition& origin) {
  Bytes bytes(file);
  const uint64_t n = bytes.count(kPoint, "points");
  require_memory(int64_t(n * sizeof(ScenePoint)), "reading " + file.string(), "thin the points out first");
  PointCloud cloud;
  cloud.origin = origin;
  cloud.points.reserve(size_t(n));
  std::vector<uint32_t> images;
  for (uint64_t i = 0; i < n; ++i) {
    bytes.next<uint64_t>("a point");
    double place[3];
    for (double& p : place) p = bytes.next<double>("a point");
    std::array<uint8_t, 3> rgb{};
    std::memcpy(rgb.data(), bytes.take(rgb.size(), "a point"), rgb.size());
    bytes.next<double>("a point");  // its error
    const uint64_t track = bytes.count(kTrackElement, "images of a point");
    images.clear();
    for (uint64_t k = 0; k < track; ++k) {
      images.push_back(bytes.next<uint32_t>("a point's images"));
      bytes.next<uint32_t>("a point's images");  // the number of the point there
    }
    cloud.add(place[0], place[1], place[2], rgb, images);
  }
  bytes.require_end();
  return cloud;
}

}  // namespace

void read_colmap_binary(ColmapModel& model) {
  read_cameras(model.cameras_file(), model);
  read_images(model.images_file(), model);
  sort_colmap_images(model);
  const fs::path points = model.folder / "points3D.bin";
  std::error_code ignored;
  if (fs::exists(points, ignored)) model.cloud = read_points(points, model.origin());
}

}  // namespace klab
