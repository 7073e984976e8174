#include "labs/radiance/run/contact_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/radiance/evaluate/shown.h"
#include "labs/radiance/scene/image.h"

namespace klab {
namespace {

constexpr int kGap = 4;            // pixels around a tile
constexpr uint8_t kBehind = 0x60;  // gray between tiles

/// Returns a picture of 3 bytes a pixel in a tile's size.
std::string tile_of(const std::string& bytes, int width, int height, int to_width, int to_height) {
  Photo photo{.width = width, .height = height, .rgb = {}};
  for (const char c : bytes) photo.rgb.push_back(float(static_cast<unsigned char>(c)) / 255);
  return color_bytes(reduced_photo(std::move(photo), to_width, to_height).rgb, 0);
}

}  // namespace

ContactSheet::ContactSheet(const std::vector<int64_t>& scored) {
  const size_t rows = std::min(scored.size(), size_t(kRows));
  for (size_t i = 0; i < rows; ++i) wanted_.push_back(scored[i * scored.size() / rows]);
}

bool ContactSheet::wants(int64_t view) const { return std::ranges::find(wanted_, view) != wanted_.end(); }

void ContactSheet::add(const View& view, const Picture& picture, const ViewScore& score, bool black) {
  if (!wants(score.view)) return;
  const int w = picture.width, h = picture.height;
  const double share = std::min(1.0, double(kSide) / std::max(w, h));
  Row row{.view = score.view,
          .psnr = score.psnr,
          .width = std::max(1, int(std::lround(share * w))),
          .height = std::max(1, int(std::lround(share * h))),
          .tiles = {}};
  const Photo truth = photo_of(view, black, w, h);
  for (const std::string& bytes : {color_bytes(truth.rgb, 0), color_bytes(picture.rgb, 0),
                                   depth_bytes(picture), error_bytes(picture, truth)})
    row.tiles.push_back(tile_of(bytes, w, h, row.width, row.height));
  const auto after = std::ranges::find_if(rows_, [&](const Row& r) { return r.view >= row.view; });
  rows_.insert(after, std::move(row));
}

void ContactSheet::save(const std::filesystem::path& file) const {
  int column = 0, height = kGap;
  for (const Row& row : rows_) {
    column = std::max(column, row.width + kGap);
    height += row.height + kGap;
  }
  const int width = kGap + 4 * column;
  std::vector<uint8_t> pixels(3 * size_t(width) * size_t(height), kBehind);
  int top = kGap;
  for (const Row& row : rows_) {
    for (size_t t = 0; t < row.tiles.size(); ++t)
      for (int y = 0; y < row.height; ++y) {
        const size_t line = 3 * size_t(row.width);
        const auto from = row.tiles[t].begin() + std::ptrdiff_t(size_t(y) * line);
        const size_t to = 3 * (size_t(top + y) * size_t(width) + size_t(kGap) + t * size_t(column));
        std::copy_n(from, line, pixels.begin() + std::ptrdiff_t(to));
      }
    top += row.height + kGap;
  }
  save_png(file, width, height, 3, pixels);
}

std::string ContactSheet::legend() const {
  std::string views;
  for (const Row& row : rows_)
    views += fmt::format("{}{}{}", views.empty() ? "" : ", ", row.view,
                         std::isfinite(row.psnr) ? fmt::format(" ({:.1f} dB)", row.psnr) : " (equal)");
  return fmt::format(
      "from left to right truth, rendered, depth (near is light), error (black 0, white {:g} and more); test "
      "view{} {}",
      kWorstError, rows_.size() == 1 ? "" : "s", views);
}

}  // namespace klab
