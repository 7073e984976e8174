#include "labs/radiance/splat/splat_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/image.h"
#include "labs/radiance/splat/ply.h"
#include "labs/radiance/splat/sog.h"
#include "labs/radiance/splat/spz.h"

namespace klab {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr int64_t kRecord = 32, kMostSplatBytes = 8'000'000'000;
constexpr float kDegree0 = 0.28209479F;  // the function of degree 0: sqrt(1/(4π))
constexpr float kLeastScale = 1e-30F, kMostScale = 1e30F;

struct Record {
  float position[3], scale[3];
  uint8_t rgba[4], rotation[4];
};
static_assert(sizeof(Record) == size_t(kRecord));

[[noreturn]] void refuse_splat_file(
    const std::filesystem::path& file, const std::string& field, const std::string& why,
    const std::string& remedy = "take that Gaussian out, or export the file again") {
  throw Refused(file, field, why, remedy);
}

float logistic(float raw) { return 1 / (1 + std::exp(-raw)); }

Record record_of(const GaussianSet& set, int64_t i) {
  const int64_t n = set.n;
  Record out;
  float length = 0;
  for (int64_t k = 0; k < 4; ++k) length += std::pow(set.quaternion[size_t(k * n + i)], 2.0F);
  length = std::max(std::sqrt(length), 1e-20F);
  for (int64_t k = 0; k < 3; ++k) {
    out.position[k] = set.position[size_t(k * n + i)];
    out.scale[k] = std::clamp(std::exp(set.log_scale[size_t(k * n + i)]), kLeastScale, kMostScale);
    out.rgba[k] = to_byte(0.5F + kDegree0 * set.coefficients[size_t(k * n + i)]);
  }
  out.rgba[3] = to_byte(logistic(set.opacity_raw[size_t(i)]));
  for (int64_t k = 0; k < 4; ++k)
    out.rotation[k] =
        uint8_t(std::clamp(std::lround(128 + 128 * set.quaternion[size_t(k * n + i)] / length), 0L, 255L));
  return out;
}

void read_record(const std::filesystem::path& file, const Record& r, int64_t i, GaussianSet& set) {
  const int64_t n = set.n;
  bool turned = false;
  for (int64_t k = 0; k < 3; ++k) {
    if (!std::isfinite(r.position[k]))
      refuse_splat_file(file, "place", fmt::format("the place of Gaussian {} is {}", i, r.position[k]));
    if (!(r.scale[k] >= kLeastScale && r.scale[k] <= kMostScale))
      refuse_splat_file(file, "scale",
                        fmt::format("the scale of Gaussian {} must be from {} to {}, found {}", i,
                                    kLeastScale, kMostScale, r.scale[k]));
    set.position[size_t(k * n + i)] = r.position[k];
    set.log_scale[size_t(k * n + i)] = std::log(r.scale[k]);
    set.coefficients[size_t(k * n + i)] = (float(r.rgba[k]) / 255 - 0.5F) / kDegree0;
  }
  const float opacity = std::clamp(float(r.rgba[3]), 0.5F, 254.5F) / 255;
  set.opacity_raw[size_t(i)] = std::log(opacity / (1 - opacity));
  for (int64_t k = 0; k < 4; ++k) {
    set.quaternion[size_t(k * n + i)] = (float(r.rotation[k]) - 128) / 128;
    turned = turned || r.rotation[k] != 128;
  }
  if (!turned)
    refuse_splat_file(file, "rotation",
                      fmt::format("the rotation of Gaussian {} has no direction: its length is 0", i));
}

}  // namespace

void save_splat(const std::filesystem::path& file, const GaussianSet& grid, const WorldPlace& place) {
  const GaussianSet set = in_world(grid, place);
  const auto n = size_t(set.n);
  std::vector<size_t> order(n);
  std::vector<float> weight(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < n; ++i)
    weight[i] = std::exp(set.log_scale[i] + set.log_scale[n + i] + set.log_scale[2 * n + i]) *
                logistic(set.opacity_raw[i]);
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return weight[i]; });
  AtomicFile out(file);
  std::vector<Record> records;
  records.reserve(n);
  for (const size_t i : order) records.push_back(record_of(set, int64_t(i)));
  out.write(records.data(), records.size() * sizeof(Record));
  out.commit();
}

GaussianSet load_splat(const std::filesystem::path& file, const WorldPlace& place) {
  const std::vector<uint8_t> bytes = read_bytes(file, kMostSplatBytes);
  if (bytes.empty() || int64_t(bytes.size()) % kRecord != 0)
    refuse_splat_file(
        file, "bytes",
        fmt::format("has {} bytes; a .splat has {} a Gaussian, and one at least", bytes.size(), kRecord),
        "copy the file again");
  GaussianSet set = GaussianSet::zeros(int64_t(bytes.size()) / kRecord, 0);
  for (int64_t i = 0; i < set.n; ++i) {
    Record record;
    std::memcpy(&record, bytes.data() + i * kRecord, sizeof record);
    read_record(file, record, i, set);
  }
  subtract_origin(set, place);
  return in_grid(std::move(set), place);
}

void save_gaussians(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place,
                    const Placement* placement, int spz_version) {
  if (file.extension() == ".splat")
    save_splat(file, set, place);
  else if (file.extension() == ".spz")
    save_spz(file, set, place, spz_version);
  else if (file.extension() == ".sog")
    save_sog(file, set, place);
  else
    save_ply(file, set, place, placement);
}

GaussianSet load_gaussians(const std::filesystem::path& file, const WorldPlace& place,
                           std::vector<std::string>* notes) {
  if (file.extension() == ".spz") return load_spz(file, place, notes);
  if (file.extension() == ".sog") return load_sog(file, place);
  return file.extension() == ".splat" ? load_splat(file, place) : load_ply(file, place, notes);
}

}  // namespace klab
