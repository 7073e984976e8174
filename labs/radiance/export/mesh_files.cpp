// Meshes and points as .ply and .glb.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "harness/records/atomic_file.h"
#include "labs/radiance/export/mesh.h"

namespace klab {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats are little-endian");

/// Collects bytes and writes them in large pieces.
class Pieces {
 public:
  explicit Pieces(AtomicFile& file) : file_(file) {}
  template <class Value>
  void add(const Value& value) {
    const auto* from = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    if (bytes_.size() >= kPieceBytes) flush();
  }
  void flush() {
    file_.write(bytes_.data(), bytes_.size());
    bytes_.clear();
  }

 private:
  static constexpr size_t kPieceBytes = 1 << 20;
  AtomicFile& file_;
  std::vector<char> bytes_;
};

/// Converts a byte of sRGB to linear light of 16 bits. (IEC 61966-2-1.)
uint16_t linear_of(uint8_t byte) {
  const double s = byte / 255.0;
  return uint16_t(std::lround(65535 * (s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4))));
}

}  // namespace

void save_mesh_ply(const std::filesystem::path& file, const Mesh& mesh) {
  std::string header = fmt::format(
      "ply\nformat binary_little_endian 1.0\ncomment klab mesh\nelement vertex {}\n", mesh.positions.size());
  for (const char* name : {"x", "y", "z", "nx", "ny", "nz"})
    header += fmt::format("property float {}\n", name);
  for (const char* name : {"red", "green", "blue"}) header += fmt::format("property uchar {}\n", name);
  if (!mesh.triangles.empty())
    header +=
        fmt::format("element face {}\nproperty list uchar uint vertex_indices\n", mesh.triangles.size());
  AtomicFile out(file);
  out.write(header + "end_header\n");
  Pieces pieces(out);
  for (size_t i = 0; i < mesh.positions.size(); ++i) {
    pieces.add(mesh.positions[i]);
    pieces.add(mesh.normals[i]);
    pieces.add(mesh.colors[i]);
  }
  for (const auto& triangle : mesh.triangles) {
    pieces.add(uint8_t(3));
    pieces.add(triangle);
  }
  pieces.flush();
  out.commit();
}

void save_mesh_glb(const std::filesystem::path& file, const Mesh& mesh) {
  using nlohmann::json;
  const size_t n = mesh.positions.size(), triangles = mesh.triangles.size();
  const size_t sizes[4] = {12 * n, 12 * n, 8 * n, 12 * triangles};
  json views = json::array();
  size_t bytes = 0;
  constexpr int kArrayBuffer = 34962, kIndexBuffer = 34963;
  for (size_t k = 0; k < 4; ++k) {
    views.push_back({{"buffer", 0},
                     {"byteOffset", bytes},
                     {"byteLength", sizes[k]},
                     {"target", k < 3 ? kArrayBuffer : kIndexBuffer}});
    bytes += sizes[k];
  }
  Vec3 low{INFINITY, INFINITY, INFINITY}, high{-INFINITY, -INFINITY, -INFINITY};
  for (const Vec3 p : mesh.positions) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
  }
  constexpr int kFloat = 5126, kUnsignedShort = 5123, kUnsignedInt = 5125;
  const auto accessor = [](int view, int type, size_t count, const char* shape) {
    return json{{"bufferView", view}, {"componentType", type}, {"count", count}, {"type", shape}};
  };
  json accessors = json::array({accessor(0, kFloat, n, "VEC3"), accessor(1, kFloat, n, "VEC3"),
                                accessor(2, kUnsignedShort, n, "VEC4"),
                                accessor(3, kUnsignedInt, 3 * triangles, "SCALAR")});
  accessors[0]["min"] = json::array({low.x, low.y, low.z});
  accessors[0]["max"] = json::array({high.x, high.y, high.z});
  accessors[2]["normalized"] = true;
  const double half = std::sqrt(0.5);
  json material;
  material["pbrMetallicRoughness"] = {{"metallicFactor", 0}, {"roughnessFactor", 1}};
  material["extensions"]["KHR_materials_unlit"] = json::object();
  json primitive;
  primitive["attributes"] = {{"POSITION", 0}, {"NORMAL", 1}, {"COLOR_0", 2}};
  primitive["indices"] = 3;
  primitive["material"] = 0;
  json shape, node, scene;
  shape["primitives"] = json::array({primitive});
  node["mesh"] = 0;
  node["rotation"] = json::array({-half, 0, 0, half});  // +z up becomes +y up
  scene["nodes"] = json::array({0});
  json document;
  document["asset"] = {{"version", "2.0"}, {"generator", "klab"}};
  document["scene"] = 0;
  document["scenes"] = json::array({scene});
  document["nodes"] = json::array({node});
  document["extensionsUsed"] = json::array({"KHR_materials_unlit"});
  document["materials"] = json::array({material});
  document["meshes"] = json::array({shape});
  document["accessors"] = accessors;
  document["bufferViews"] = views;
  document["buffers"][0]["byteLength"] = bytes;
  std::string text = document.dump();
  text.resize((text.size() + 3) / 4 * 4, ' ');
  const size_t total = 12 + 8 + text.size() + 8 + bytes;
  if (total > std::numeric_limits<uint32_t>::max())
    throw std::runtime_error(
        fmt::format("{}: a .glb has at most 4 GB, and the mesh has {:.1f}: write a .ply, or give "
                    "--resolution a lower number",
                    file.string(), double(total) * 1e-9));
  AtomicFile out(file);
  Pieces pieces(out);
  constexpr uint32_t kGlb = 0x46546C67, kJson = 0x4E4F534A, kBinary = 0x004E4942;
  for (const uint32_t word : {kGlb, 2U, uint32_t(total), uint32_t(text.size()), kJson}) pieces.add(word);
  pieces.flush();
  out.write(text);
  for (const uint32_t word : {uint32_t(bytes), kBinary}) pieces.add(word);
  for (const Vec3 p : mesh.positions) pieces.add(p);
  for (const Vec3 v : mesh.normals) pieces.add(v);
  for (const auto& c : mesh.colors)
    pieces.add(std::array<uint16_t, 4>{linear_of(c[0]), linear_of(c[1]), linear_of(c[2]), 65535});
  for (const auto& t : mesh.triangles) pieces.add(t);
  pieces.flush();
  out.commit();
}

}  // namespace klab
