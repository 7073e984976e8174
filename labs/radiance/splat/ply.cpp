#include "labs/radiance/splat/ply.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "labs/radiance/scene/ply_header.h"

namespace klab {
namespace {

constexpr int kRest = 45;                      // f_rest of degree 3
constexpr int64_t kMostBytes = 8'000'000'000;  // largest file

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.string() + ": " + why);
}

/// A property of all vertices.
class Columns {
 public:
  Columns(const std::filesystem::path& file, const std::vector<uint8_t>& bytes, const PlyHeader& header)
      : file_(file), bytes_(bytes), header_(header) {}

  void read(const std::string& name, float* to) const {
    const auto at = header_.properties.find(name);
    if (at == header_.properties.end())
      refuse(file_, "has no property '" + name + "': is it a splatting file?");
    if (!at->second.is_float()) refuse(file_, "the property '" + name + "' is no float");
    for (int64_t i = 0; i < header_.vertices; ++i) {
      std::memcpy(to + i, bytes_.data() + int64_t(header_.data) + i * header_.stride + at->second.at,
                  sizeof(float));
      if (!std::isfinite(to[i])) refuse(file_, fmt::format("'{}' of vertex {} is {}", name, i, to[i]));
    }
  }

 private:
  const std::filesystem::path& file_;
  const std::vector<uint8_t>& bytes_;
  const PlyHeader& header_;
};

/// Returns the degree of the harmonics from the number of f_rest properties, which must be numbered from 0
/// without a gap.
int degree_of(const std::filesystem::path& file, const PlyHeader& header) {
  int count = 0;
  while (header.properties.contains("f_rest_" + std::to_string(count))) ++count;
  for (int degree = 0; degree <= 3; ++degree)
    if (count == 3 * ((degree + 1) * (degree + 1) - 1)) return degree;
  refuse(file, fmt::format("has {} properties f_rest; spherical harmonics have 0, 9, 24 or 45", count));
}

std::string header_text(int64_t n) {
  std::string text = fmt::format("ply\nformat binary_little_endian 1.0\nelement vertex {}\n", n);
  const auto add = [&](const std::string& name) { text += "property float " + name + "\n"; };
  for (const char* name : {"x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"}) add(name);
  for (int k = 0; k < kRest; ++k) add(fmt::format("f_rest_{}", k));
  add("opacity");
  for (int k = 0; k < 3; ++k) add(fmt::format("scale_{}", k));
  for (int k = 0; k < 4; ++k) add(fmt::format("rot_{}", k));
  return text + "end_header\n";
}

}  // namespace

void save_ply(const std::filesystem::path& file, const GaussianSet& grid, const WorldPlace& place) {
  const GaussianSet set = in_world(grid, place);
  AtomicFile out(file);
  out.write(header_text(set.n));
  constexpr int64_t kNumbers = 6 + 3 + kRest + 1 + 3 + 4, kAtOnce = 4096;
  const int64_t n = set.n,
                above = int64_t(set.degree + 1) * (set.degree + 1) - 1;  // functions above degree 0
  std::vector<float> rows;
  for (int64_t i = 0; i < n; ++i) {
    std::array<float, size_t(kNumbers)> row{};
    for (int64_t k = 0; k < 3; ++k) {
      row[size_t(k)] = set.position[size_t(k * n + i)];
      row[size_t(6 + k)] = set.coefficients[size_t(k * n + i)];
      for (int64_t f = 0; f < above; ++f)
        row[size_t(9 + 15 * k + f)] = set.coefficients[size_t((3 * (f + 1) + k) * n + i)];
      row[size_t(10 + kRest + k)] = set.log_scale[size_t(k * n + i)];
    }
    row[9 + kRest] = set.opacity_raw[size_t(i)];
    for (int64_t k = 0; k < 4; ++k) row[size_t(13 + kRest + k)] = set.quaternion[size_t(k * n + i)];
    rows.insert(rows.end(), row.begin(), row.end());
    if (int64_t(rows.size()) < kAtOnce * kNumbers && i + 1 < n) continue;
    out.write(rows.data(), rows.size() * sizeof(float));
    rows.clear();
  }
  out.commit();
}

GaussianSet load_ply(const std::filesystem::path& file, const WorldPlace& place) {
  const std::vector<uint8_t> bytes = read_bytes(file, kMostBytes);
  const PlyHeader header = read_ply_header(file, bytes, false);
  const int degree = degree_of(file, header);
  GaussianSet set = GaussianSet::zeros(header.vertices, degree);
  const Columns columns(file, bytes, header);
  const int64_t n = set.n, above = int64_t(degree + 1) * (degree + 1) - 1;
  const char* axes[3] = {"x", "y", "z"};
  for (int64_t k = 0; k < 3; ++k) {
    columns.read(axes[k], set.position.data() + k * n);
    columns.read(fmt::format("scale_{}", k), set.log_scale.data() + k * n);
    columns.read(fmt::format("f_dc_{}", k), set.coefficients.data() + k * n);
    for (int64_t f = 0; f < above; ++f)
      columns.read(fmt::format("f_rest_{}", above * k + f), set.coefficients.data() + (3 * (f + 1) + k) * n);
  }
  for (int64_t k = 0; k < 4; ++k) columns.read(fmt::format("rot_{}", k), set.quaternion.data() + k * n);
  columns.read("opacity", set.opacity_raw.data());
  for (int64_t i = 0; i < n; ++i) {
    float square = 0;
    for (int64_t k = 0; k < 4; ++k)
      square += set.quaternion[size_t(k * n + i)] * set.quaternion[size_t(k * n + i)];
    if (!(square > 1e-20F && std::isfinite(square)))
      refuse(file, fmt::format("the rotation of vertex {} has no direction: its length is {}", i,
                               std::sqrt(square)));
  }
  return in_grid(std::move(set), place);
}

}  // namespace klab
