#include "labs/radiance/export/marching_cubes.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace klab {
namespace {

constexpr uint32_t kNoVertex = ~0U;

/// An edge of a cell: along `axis` from corner `from`. Corners have bits x, y, z.
struct CellEdge {
  int from, axis;
  int to() const { return from | 1 << axis; }
};

/// The twelve edges: four along each axis.
constexpr std::array<CellEdge, 12> cell_edges() {
  std::array<CellEdge, 12> edges{};
  size_t n = 0;
  for (int axis = 0; axis < 3; ++axis)
    for (int corner = 0; corner < 8; ++corner)
      if ((corner >> axis & 1) == 0) edges[n++] = {corner, axis};
  return edges;
}
constexpr std::array<CellEdge, 12> kCellEdges = cell_edges();

constexpr int edge_between(int a, int b) {
  for (int e = 0; e < 12; ++e)
    if (const CellEdge edge = kCellEdges[size_t(e)];
        (edge.from == a && edge.to() == b) || (edge.from == b && edge.to() == a))
      return e;
  return -1;
}

/// The corners of a face, counterclockwise from outside of the cell.
constexpr std::array<int, 4> face_corners(int axis, bool high) {
  const int u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, at = high ? 1 << axis : 0;
  if (high) return {at, at | u, at | u | v, at | v};
  return {at, at | v, at | u | v, at | u};
}

/// A loop of the surface through a cell: the edges that it crosses, counterclockwise from outside. It is cut into
/// triangles from its first vertex, or from one in its middle.
struct Loop {
  std::vector<int> edges;
  bool has_middle = false;
};

bool share_a_face(int a, int b) {
  for (int axis = 0; axis < 3; ++axis)
    for (const bool high : {false, true}) {
      const auto on = [&](int e) {
        const CellEdge edge = kCellEdges[size_t(e)];
        return edge.axis != axis && (edge.from >> axis & 1) == int(high);
      };
      if (on(a) && on(b)) return true;
    }
  return false;
}

/// Turns the loop so that it can be cut from its first vertex: no cut may lie on a face, where the cell behind could have
/// the same one. Where there is no such vertex, the loop gets one in its middle.
Loop cut_loop(const std::vector<int>& edges) {
  const size_t n = edges.size();
  for (size_t first = 0; first < n; ++first) {
    bool good = true;
    for (size_t k = 2; k + 1 < n; ++k) good = good && !share_a_face(edges[first], edges[(first + k) % n]);
    if (!good) continue;
    Loop loop;
    for (size_t k = 0; k < n; ++k) loop.edges.push_back(edges[(first + k) % n]);
    return loop;
  }
  return {edges, true};
}

/// Chains the edges of the surface on the faces of a cell whose corners inside are given as bits.
std::vector<Loop> loops_of(int inside) {
  std::array<int, 12> next{};
  next.fill(-1);
  for (int axis = 0; axis < 3; ++axis)
    for (const bool high : {false, true}) {
      const std::array<int, 4> corners = face_corners(axis, high);
      const auto is_inside = [&](int k) { return (inside >> corners[size_t(k % 4)] & 1) != 0; };
      const auto crossed = [&](int k) {
        return edge_between(corners[size_t(k % 4)], corners[size_t((k + 1) % 4)]);
      };
      for (int k = 0; k < 4; ++k) {
        if (is_inside(k) || !is_inside(k + 1)) continue;  // a run of corners inside begins
        int end = k + 1;
        while (is_inside(end + 1)) ++end;
        next[size_t(crossed(k))] = crossed(end);
      }
    }
  std::vector<Loop> loops;
  for (size_t e = 0; e < 12; ++e) {
    std::vector<int> edges;
    for (int at = int(e); next[size_t(at)] >= 0;) {
      edges.push_back(at);
      at = std::exchange(next[size_t(at)], -1);
    }
    if (!edges.empty()) loops.push_back(cut_loop(edges));
  }
  return loops;
}

const std::array<std::vector<Loop>, 256>& cell_loops() {
  static const std::array<std::vector<Loop>, 256> list = [] {
    std::array<std::vector<Loop>, 256> made;
    for (int inside = 0; inside < 256; ++inside) made[size_t(inside)] = loops_of(inside);
    return made;
  }();
  return list;
}

/// Walks through the cells of the grid, and of one layer around it that is empty and has no thickness: it closes the
/// surface at the box. Points are numbered from 1 here, and those of the layer are 0 and the last.
class CubeWalk {
 public:
  CubeWalk(const SampledBox& box, float level) : box_(box), level_(level) {
    for (size_t k = 0; k < 3; ++k) line_[k] = box.points[k] + 2;
    const size_t plane = size_t(line_[0]) * size_t(line_[1]);
    for (auto& layer : vertices_) layer.assign(4 * plane, kNoVertex);
  }

  Mesh surface() {
    for (int z = 0; z + 1 < line_[2]; ++z) {
      std::swap(vertices_[0], vertices_[1]);
      std::ranges::fill(vertices_[1], kNoVertex);
      for (int y = 0; y + 1 < line_[1]; ++y)
        for (int x = 0; x + 1 < line_[0]; ++x) cell({x, y, z});
    }
    return std::move(mesh_);
  }

 private:
  using Point = std::array<int, 3>;

  bool is_outer(const Point& p) const {
    for (size_t k = 0; k < 3; ++k)
      if (p[k] == 0 || p[k] == line_[k] - 1) return true;
    return false;
  }
  float value(const Point& p) const {
    return box_
        .values[(size_t(p[2] - 1) * size_t(box_.points[1]) + size_t(p[1] - 1)) * size_t(box_.points[0]) +
                size_t(p[0] - 1)];
  }
  bool is_inside(const Point& p) const { return !is_outer(p) && value(p) >= level_; }
  Vec3 place(const Point& p) const { return box_.at(p[0] - 1, p[1] - 1, p[2] - 1); }
  static Point corner(const Point& cell, int c) {
    return {cell[0] + (c & 1), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2)};
  }

  void cell(const Point& at) {
    int inside = 0;
    for (int c = 0; c < 8; ++c) inside |= int(is_inside(corner(at, c))) << c;
    if (inside == 0 || inside == 255) return;
    for (const Loop& loop : cell_loops()[size_t(inside)]) {
      around_.clear();
      for (const int e : loop.edges) around_.push_back(vertex_on(at, kCellEdges[size_t(e)]));
      const size_t n = around_.size();
      if (loop.has_middle) {
        const uint32_t middle = middle_vertex();
        for (size_t k = 0; k < n; ++k) add(middle, around_[k], around_[(k + 1) % n]);
      } else {
        for (size_t k = 1; k + 1 < n; ++k) add(around_[0], around_[k], around_[k + 1]);
      }
    }
  }

  /// Triangles between equal vertices have no area: the edges on both sides of them meet.
  void add(uint32_t a, uint32_t b, uint32_t c) {
    if (a != b && b != c && c != a) mesh_.triangles.push_back({a, b, c});
  }

  /// The vertex on an edge of a cell. Edges from a point of the box into the empty layer share the vertex at that point.
  uint32_t vertex_on(const Point& cell, const CellEdge& edge) {
    const Point a = corner(cell, edge.from), b = corner(cell, edge.to());
    const bool capped = is_outer(a) || is_outer(b);
    const Point& owner = capped && is_outer(a) ? b : a;
    const size_t kind = capped ? 3 : size_t(edge.axis);
    uint32_t& known = vertices_[size_t(owner[2] - cell[2])]
                               [4 * (size_t(owner[1]) * size_t(line_[0]) + size_t(owner[0])) + kind];
    if (known == kNoVertex) known = capped ? cap_vertex(owner) : new_vertex(a, b);
    return known;
  }

  uint32_t push(Vec3 position, Vec3 normal) {
    if (mesh_.positions.size() >= kNoVertex)
      throw std::runtime_error("the mesh has more than 2^32 vertices: give --resolution a lower number");
    mesh_.positions.push_back(position);
    const float size = length(normal);
    mesh_.normals.push_back(size > 0 ? (1 / size) * normal : Vec3{0, 0, 1});
    return uint32_t(mesh_.positions.size() - 1);
  }

  uint32_t cap_vertex(const Point& p) {
    float outwards[3] = {};
    for (size_t k = 0; k < 3; ++k) outwards[k] = float(p[k] == line_[k] - 2) - float(p[k] == 1);
    return push(place(p), {outwards[0], outwards[1], outwards[2]});
  }

  uint32_t new_vertex(const Point& a, const Point& b) {
    constexpr float kLeast = 1e-3F;  // from either end: no two vertices coincide
    const float va = value(a), vb = value(b);
    const bool known = va > kNoValue && vb > kNoValue;
    float t = known ? (level_ - va) / (vb - va) : 0.5F;
    if (!(t > kLeast)) t = kLeast;
    t = std::min(t, 1 - kLeast);
    const Vec3 from = place(a), to = place(b);
    Vec3 normal = (1 - t) * downhill(a) + t * downhill(b);
    if (!(length(normal) > 1e-20F)) normal = va >= level_ ? to - from : from - to;
    return push(from + t * (to - from), normal);
  }

  /// The direction in which values fall. Points without a value count as the level.
  Vec3 downhill(const Point& p) const {
    float slope[3] = {};
    const Vec3 step = place({2, 2, 2}) - place({1, 1, 1});
    const float steps[3] = {step.x, step.y, step.z};
    for (size_t k = 0; k < 3; ++k) {
      Point before = p, after = p;
      before[k] = std::max(1, p[k] - 1), after[k] = std::min(line_[k] - 2, p[k] + 1);
      const auto of = [&](const Point& q) { return value(q) > kNoValue ? value(q) : level_; };
      slope[k] = (of(before) - of(after)) / (float(after[k] - before[k]) * steps[k]);
    }
    return {slope[0], slope[1], slope[2]};
  }

  /// The vertex in the middle of the present loop.
  uint32_t middle_vertex() {
    Vec3 position{}, normal{};
    for (const uint32_t v : around_)
      position = position + mesh_.positions[v], normal = normal + mesh_.normals[v];
    return push((1 / float(around_.size())) * position, normal);
  }

  const SampledBox& box_;
  float level_;
  std::array<int, 3> line_{};  // points along each axis, the layer's with them
  std::array<std::vector<uint32_t>, 2>
      vertices_;  // of two layers: by point, on its edges along x, y, z, and at itself
  std::vector<uint32_t> around_;
  Mesh mesh_;
};

}  // namespace

Vec3 SampledBox::at(int x, int y, int z) const {
  const auto along = [](float from, float to, int k, int n) {
    return k + 1 == n ? to : from + (to - from) * (float(k) / float(n - 1));
  };
  return {along(low.x, high.x, x, points[0]), along(low.y, high.y, y, points[1]),
          along(low.z, high.z, z, points[2])};
}

Mesh marching_cubes(const SampledBox& box, float level) { return CubeWalk(box, level).surface(); }

}  // namespace klab
