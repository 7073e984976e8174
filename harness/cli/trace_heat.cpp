// Heat maps of arrays: how often each sector of 32 bytes is read and written, and which warp used it first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>

#include "harness/cli/trace_pictures.h"
#include "harness/core/element.h"

namespace klab {
namespace {

constexpr size_t kMostAcross = 48, kMostDown = 48;  // drawn cells
constexpr size_t kBytesOfRow = 1024;                // of arrays without rows
constexpr size_t kMostHeatMaps = 12;
constexpr double kLeftOfMap = 52, kMapWidth = 340, kMostMapHeight = 150;

/// An array as it is drawn: rows below each other, pieces of 32 bytes or multiples of that across.
struct HeatGrid {
  size_t row_bytes = 0, rows = 0, element = 4;
  size_t across = 0, down = 0;  // drawn cells
  size_t bytes_of_cell = 32, rows_of_cell = 1;
  std::string dims;  // "256 x 256 elements of 4 bytes"
};

struct HeatCell {
  double weight = 0, reads = 0, writes = 0, atomics = 0;
  bool used = false;
  uint32_t first_block = 0;
  uint16_t first_warp = 0;
};

/// Finds the tensor of that name and size; its rows are those of its last dimension.
HeatGrid grid_of(const RecordedRun& of, const simt::RecordedArray& a) {
  HeatGrid g;
  g.row_bytes = kBytesOfRow;
  g.dims = fmt::format("{} bytes", a.bytes);
  for (const TensorSpec& spec : of.op->op.tensors(of.run->shape)) {
    const size_t element = size_of(spec.element);
    int64_t elements = 1;
    for (const int64_t d : spec.dims) elements *= d;
    if (spec.name != a.name || size_t(elements) * element != a.bytes) continue;
    g.element = element;
    g.dims = fmt::format("{} elements of {} bytes", fmt::join(spec.dims, " x "), element);
    const size_t row = spec.dims.empty() ? 0 : size_t(spec.dims.back()) * element;
    if (spec.dims.size() > 1 && row >= 64) g.row_bytes = row;
    break;
  }
  g.row_bytes = std::max<size_t>(32, std::min(g.row_bytes, (a.bytes + 31) / 32 * 32));
  g.rows = std::max<size_t>(1, (a.bytes + g.row_bytes - 1) / g.row_bytes);
  const size_t pieces = (g.row_bytes + 31) / 32;
  g.bytes_of_cell = 32 * ((pieces + kMostAcross - 1) / kMostAcross);
  g.across = (g.row_bytes + g.bytes_of_cell - 1) / g.bytes_of_cell;
  g.rows_of_cell = (g.rows + kMostDown - 1) / kMostDown;
  g.down = (g.rows + g.rows_of_cell - 1) / g.rows_of_cell;
  return g;
}

std::vector<HeatCell> heat_cells(const HeatGrid& g, const simt::RecordedArray& a) {
  std::vector<HeatCell> cells(g.across * g.down);
  const size_t span = 32 * a.sectors_per_cell;
  for (size_t k = 0; k < a.cells.size(); ++k) {
    const simt::SectorUse& use = a.cells[k];
    // Bytes of the array in these sectors.
    const size_t begin = k * span > a.lead ? k * span - a.lead : 0,
                 end = std::min(a.bytes, (k + 1) * span - a.lead);
    const double of_sector = 1.0 / double(a.sectors_per_cell);
    for (size_t at = begin; at < end;) {
      const size_t row = at / g.row_bytes, in_row = at % g.row_bytes, column = in_row / g.bytes_of_cell;
      const size_t stop =
          std::min({end, (row + 1) * g.row_bytes, row * g.row_bytes + (column + 1) * g.bytes_of_cell});
      HeatCell& c = cells[row / g.rows_of_cell * g.across + column];
      const auto weight = double(stop - at);
      c.weight += weight;
      c.reads += weight * of_sector * use.reads;
      c.writes += weight * of_sector * use.writes;
      c.atomics += weight * of_sector * use.atomics;
      if (use.used && !c.used) {
        c.used = true;
        c.first_block = use.first_block;
        c.first_warp = use.first_warp;
      }
      at = stop;
    }
  }
  for (HeatCell& c : cells) {
    if (c.weight == 0) continue;
    for (double* sum : {&c.reads, &c.writes, &c.atomics}) *sum /= c.weight;
  }
  return cells;
}

/// Levels are those of every picture, so that two of them can be compared: none, up to 1, 2, 4, ... 32, more.
constexpr std::array<double, 7> kLevels = {0.14, 0.28, 0.42, 0.56, 0.7, 0.85, 1};

size_t level_of(double count) {
  size_t level = 0;
  for (double most = 1; level + 1 < kLevels.size() && count > most * 1.0001; most *= 2) ++level;
  return level;
}

std::string count_text(double count) {
  return std::abs(count - std::round(count)) < 0.05 ? fmt::format("{:.0f}", count)
                                                    : fmt::format("{:.1f}", count);
}

struct MapFrame {
  double width, height;  // of a cell
};

MapFrame frame_of(const HeatGrid& g) {
  const double width = std::min(28.0, kMapWidth / double(g.across));
  // Elements are squares where there is room for them.
  const double square = width / (double(g.bytes_of_cell) / double(g.element)) * double(g.rows_of_cell);
  return {width, std::clamp(square, 2.0, std::max(2.0, std::min(12.0, kMostMapHeight / double(g.down))))};
}

/// Adds the rows' numbers, and a frame around the cells.
void add_axes(Svg& svg, const HeatGrid& g, const MapFrame& f, double top) {
  const double height = f.height * double(g.down), width = f.width * double(g.across);
  svg.text(kLeftOfMap - 4, top + 8,
           g.row_bytes == kBytesOfRow && g.dims.ends_with("bytes") ? "byte 0" : "row 0", "d s", "end");
  const size_t last = (g.down - 1) * g.rows_of_cell;
  if (g.down > 1 && height > 20)
    svg.text(
        kLeftOfMap - 4, top + height,
        std::to_string(g.row_bytes == kBytesOfRow && g.dims.ends_with("bytes") ? last * g.row_bytes : last),
        "d s", "end");
  svg.path(box(kLeftOfMap, top, width, height), "rule");
}

/// Draws cells of one level as a path, neighbors of a row together.
template <class Is>
std::string row_runs(const HeatGrid& g, const MapFrame& f, double top, Is is) {
  std::string d;
  for (size_t row = 0; row < g.down; ++row)
    for (size_t at = 0; at < g.across;) {
      if (!is(row * g.across + at)) {
        ++at;
        continue;
      }
      size_t end = at + 1;
      while (end < g.across && is(row * g.across + end)) ++end;
      d += box(kLeftOfMap + double(at) * f.width, top + double(row) * f.height, double(end - at) * f.width,
               f.height);
      at = end;
    }
  return d;
}

void add_counts_map(Svg& svg, const HeatGrid& g, const std::vector<HeatCell>& cells, double HeatCell::*which,
                    const std::string& what, uint64_t sum) {
  double least = 1e300, most = 0, used = 0;
  for (const HeatCell& c : cells) {
    if (c.weight == 0) continue;
    least = std::min(least, c.*which);
    most = std::max(most, c.*which);
    used += c.*which > 0;
  }
  if (most == 0) return;
  svg.grow(6);
  svg.paragraph(
      fmt::format("{}: {} times in all, a sector {}", what, sum,
                  most - least < 0.05 ? count_text(most) + " times"
                                      : fmt::format("{} to {} times", count_text(least), count_text(most))),
      "t");
  svg.grow(3);
  const MapFrame f = frame_of(g);
  const double top = svg.height();
  double x = kLeftOfMap;
  const double below = top + f.height * double(g.down) + 6;
  for (size_t level = 0; level < kLevels.size(); ++level) {
    double low = 1e300, high = 0;
    const auto is = [&](size_t k) {
      return cells[k].weight > 0 && cells[k].*which > 0 && level_of(cells[k].*which) == level;
    };
    for (size_t k = 0; k < cells.size(); ++k)
      if (is(k)) low = std::min(low, cells[k].*which), high = std::max(high, cells[k].*which);
    if (high == 0) continue;
    svg.path(row_runs(g, f, top, is), "hot", kLevels[level]);
    const std::string text = high - low < 0.05 ? count_text(high) : count_text(low) + "–" + count_text(high);
    svg.rect(x, below, 12, 9, "hot", kLevels[level]);
    svg.text(x + 15, below + 8, text, "s");
    x += 26 + 6.0 * double(text.size());
  }
  if (used < double(std::ranges::count_if(
                 cells, [](const HeatCell& c) { return c.weight > 0; }))) {
    svg.path(box(x, below, 12, 9), "rule");
    svg.text(x + 15, below + 8, "0", "s");
  }
  add_axes(svg, g, f, top);
  svg.grow(f.height * double(g.down) + 18);
}

void add_first_map(Svg& svg, const HeatGrid& g, const std::vector<HeatCell>& cells) {
  uint16_t most = 0;
  std::set<uint32_t> blocks;
  for (const HeatCell& c : cells)
    if (c.used) most = std::max(most, c.first_warp), blocks.insert(c.first_block);
  if (blocks.empty()) return;
  svg.grow(6);
  svg.paragraph("First used by which warp of its block; lines are borders of blocks", "t");
  svg.grow(3);
  const MapFrame f = frame_of(g);
  const double top = svg.height(), below = top + f.height * double(g.down) + 6;
  const size_t shades = std::min<size_t>(size_t(most) + 1, 8), per = (size_t(most) + shades) / shades;
  double x = kLeftOfMap;
  for (size_t s = 0; s < shades; ++s) {
    const double opacity = shades == 1 ? 0.5 : 0.12 + 0.88 * double(s) / double(shades - 1);
    const std::string d =
        row_runs(g, f, top, [&](size_t k) { return cells[k].used && cells[k].first_warp / per == s; });
    if (d.empty()) continue;
    svg.path(d, "blue", opacity);
    const size_t from = s * per, to = std::min<size_t>(most, from + per - 1);
    const std::string text = from == to ? std::to_string(from) : fmt::format("{}–{}", from, to);
    svg.rect(x, below, 12, 9, "blue", opacity);
    svg.text(x + 15, below + 8, text, "s");
    x += 24 + 6.0 * double(text.size());
  }
  std::string edges;
  const auto differ = [&](size_t a, size_t b) {
    return cells[a].used && cells[b].used && cells[a].first_block != cells[b].first_block;
  };
  for (size_t row = 0; row < g.down; ++row)
    for (size_t c = 0; c < g.across; ++c) {
      const size_t k = row * g.across + c;
      const double left = kLeftOfMap + double(c) * f.width, up = top + double(row) * f.height;
      if (c > 0 && differ(k, k - 1)) edges += fmt::format("M{:.1f} {:.1f}v{:.1f}", left, up, f.height);
      if (row > 0 && differ(k, k - g.across))
        edges += fmt::format("M{:.1f} {:.1f}h{:.1f}", left, up, f.width);
    }
  svg.path(edges, "edge");
  add_axes(svg, g, f, top);
  svg.grow(f.height * double(g.down) + 18);
  if (blocks.size() == 1) svg.paragraph(fmt::format("All by block {}.", *blocks.begin()), "d s");
}

std::string csv_of(const simt::RecordedArray& a) {
  std::string csv = "first_byte,sectors,reads,writes,atomics,first_block,first_warp\n";
  const size_t span = 32 * a.sectors_per_cell;
  const size_t sectors = (a.lead + a.bytes + 31) / 32;
  for (size_t k = 0; k < a.cells.size(); ++k) {
    const simt::SectorUse& u = a.cells[k];
    csv += fmt::format("{},{},{},{},{},{},{}\n", k * span > a.lead ? k * span - a.lead : 0,
                       std::min(a.sectors_per_cell, sectors - k * a.sectors_per_cell), u.reads, u.writes,
                       u.atomics, u.used ? std::to_string(u.first_block) : "",
                       u.used ? std::to_string(u.first_warp) : "");
  }
  return csv;
}

TracePicture heat_picture(const RecordedRun& of, const simt::RecordedArray& a) {
  const HeatGrid g = grid_of(of, a);
  const std::vector<HeatCell> cells = heat_cells(g, a);
  TracePicture p{.name = "heat_" + a.name, .title = "Sectors of " + a.name, .svg = {}, .csv = csv_of(a)};
  uint64_t reads = 0, writes = 0, atomics = 0;
  for (const simt::SectorUse& u : a.cells) reads += u.reads, writes += u.writes, atomics += u.atomics;
  p.weight = double(reads + writes + atomics) / double(std::max<size_t>(1, (a.bytes + 31) / 32));
  p.svg.paragraph(fmt::format("{}: {}", a.name, g.dims), "t");
  const std::string piece = g.bytes_of_cell == 32 && g.rows_of_cell == 1 && a.sectors_per_cell == 1
                                ? "a sector of 32 bytes"
                                : fmt::format("the mean of sectors in {} bytes of {} {}", g.bytes_of_cell,
                                              g.rows_of_cell, g.rows_of_cell == 1 ? "row" : "rows");
  p.svg.paragraph(fmt::format("A cell is {}; a request of a warp counts once for each sector.", piece), "d");
  add_counts_map(p.svg, g, cells, &HeatCell::reads, "Read", reads);
  add_counts_map(p.svg, g, cells, &HeatCell::writes, "Written", writes);
  add_counts_map(p.svg, g, cells, &HeatCell::atomics, "Atomics", atomics);
  add_first_map(p.svg, g, cells);
  return p;
}

}  // namespace

std::vector<TracePicture> heat_pictures(const RecordedRun& of, std::vector<std::string>& left_out) {
  std::vector<const simt::RecordedArray*> list;
  for (const simt::RecordedArray& a : of.recording->arrays())
    if (std::ranges::any_of(a.cells, &simt::SectorUse::used)) list.push_back(&a);
  if (list.size() > kMostHeatMaps) {
    left_out.push_back(
        fmt::format("heat maps of {} arrays after the first {}", list.size() - kMostHeatMaps, kMostHeatMaps));
    list.resize(kMostHeatMaps);
  }
  std::vector<TracePicture> pictures;
  for (const simt::RecordedArray* a : list) pictures.push_back(heat_picture(of, *a));
  return pictures;
}

}  // namespace klab
