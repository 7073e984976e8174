// The contact sheet of an evaluation: a few of its test views in one small picture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/evaluate.h"

namespace klab {

/// A row is a test view. Its columns are the true picture, the rendered one, the depth of that, and its error.
class ContactSheet {
 public:
  static constexpr int kRows = 4;    // at most
  static constexpr int kSide = 200;  // pixels of a tile's longer side, at most

  ContactSheet() = default;
  /// Chooses the rows: evenly spread over the numbers of the views that will be scored.
  explicit ContactSheet(const std::vector<int64_t>& scored);

  /// Returns whether a view has a row. Its picture should have depth.
  bool wants(int64_t view) const;
  /// Adds the row of a view, score.view of those that are scored, if it has one. Keeps the tiles only.
  void add(const View& view, const Picture& picture, const ViewScore& score, bool black);

  bool empty() const { return rows_.empty(); }
  /// Writes a PNG under a temporary name, then renames it. Throws FileError.
  void save(const std::filesystem::path& file) const;
  /// Says what rows and columns are, with the PSNR of each view. In one line.
  std::string legend() const;

 private:
  struct Row {
    int64_t view;
    double psnr;
    int width, height;               // of a tile
    std::vector<std::string> tiles;  // 3 bytes a pixel
  };
  std::vector<int64_t> wanted_;
  std::vector<Row> rows_;  // in the order of the views
};

}  // namespace klab
