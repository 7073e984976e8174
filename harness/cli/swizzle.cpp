#include "harness/cli/swizzle.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "harness/report/table.h"
#include "harness/simt/banks.h"
#include "harness/simt/compiled_count.h"
#include "harness/simt/tensor_map.h"

namespace klab {
namespace {

constexpr uint32_t kPiece = 16;  // bytes that a swizzle moves together
constexpr uint32_t kRows = 8;    // after which every swizzle of a row of 128 bytes repeats

unsigned bank_of(uintptr_t address) { return unsigned(address / 4 % simt::kBanks); }

SwizzledRequest request(std::string what, uint32_t bytes, const std::array<uintptr_t, 32>& address) {
  SwizzledRequest r{.what = std::move(what), .bytes = bytes, .address = address};
  r.passes = passes_under_swizzles(false, bytes, ~0U, address.data());
  r.least = simt::cost_of(simt::Space::shared, false, false, bytes, ~0U, address.data()).ideal_wavefronts;
  return r;
}

std::string span_text(unsigned swizzle) {
  return swizzle == 0 ? "none" : fmt::format("{} B", kSwizzleSpans[swizzle]);
}

}  // namespace

unsigned swizzle_of_span(unsigned span) {
  const auto at = std::ranges::find(kSwizzleSpans, span);
  if (at == kSwizzleSpans.end())
    throw std::invalid_argument(
        fmt::format("a swizzle of {} bytes: there are 0 (none), 32, 64 and 128", span));
  return unsigned(at - kSwizzleSpans.begin());
}

std::array<int64_t, 4> passes_under_swizzles(bool write, uint32_t bytes, uint32_t mask,
                                             const uintptr_t* address) {
  std::array<int64_t, 4> passes{};
  for (unsigned s = 0; s < passes.size(); ++s) {
    std::array<uintptr_t, 32> moved{};
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = size_t(__builtin_ctz(rest));
      moved[lane] = simt::swizzled(address[lane], s);
    }
    passes[s] = simt::cost_of(simt::Space::shared, write, false, bytes, mask, moved.data()).wavefronts;
  }
  return passes;
}

std::vector<SwizzledRequest> requests_of_tile(const SwizzledTile& tile) {
  std::vector<SwizzledRequest> list;
  std::array<uintptr_t, 32> address{};
  const auto add = [&](std::string what, uint32_t bytes, auto place) {
    for (uint32_t lane = 0; lane < 32; ++lane) address[lane] = place(lane);
    list.push_back(request(std::move(what), bytes, address));
  };
  const uint32_t pieces = tile.row_bytes / kPiece;
  add("lanes along the rows, 16 B each", kPiece,
      [&](uint32_t lane) { return tile.at(lane / pieces, lane % pieces * kPiece); });
  add(fmt::format("a lane a row, the first {} B of each", tile.element), tile.element,
      [&](uint32_t lane) { return tile.at(lane, 0); });
  add("a lane a row, the first 16 B of each", kPiece, [&](uint32_t lane) { return tile.at(lane, 0); });
  // ldmatrix.x4: lanes 0 to 7 name the rows of the first matrix, 8 to 15 those of the second, and so on.
  add("ldmatrix.x4 of 32 rows", kPiece, [&](uint32_t lane) { return tile.at(lane, 0); });
  if (pieces >= 2)
    add("ldmatrix.x4 of 16 rows, two pieces each", kPiece,
        [&](uint32_t lane) { return tile.at(lane % 16, lane / 16 * kPiece); });
  return list;
}

std::string tile_text(const SwizzledTile& tile) {
  const uint32_t pieces = tile.row_bytes / kPiece;
  const auto banks = [&](unsigned swizzle) {
    std::vector<Column> columns = {{"row", Column::Kind::right}};
    for (uint32_t piece = 0; piece < pieces; ++piece)
      columns.push_back({std::to_string(piece * kPiece / tile.element), Column::Kind::right});
    Table table(columns);
    for (uint32_t row = 0; row < kRows; ++row) {
      std::vector<Cell> cells = {std::to_string(row)};
      for (uint32_t piece = 0; piece < pieces; ++piece)
        cells.emplace_back(std::to_string(bank_of(simt::swizzled(tile.at(row, piece * kPiece), swizzle))));
      table.add(std::move(cells));
    }
    return table.text();
  };
  std::string text = "First bank of each 16 bytes, by row and first element, without a swizzle:\n" + banks(0);
  if (tile.swizzle != 0)
    text += fmt::format("\nThe same bytes under the swizzle of {} bytes:\n", kSwizzleSpans[tile.swizzle]) +
            banks(tile.swizzle);
  return text;
}

std::string requests_text(const SwizzledTile& tile) {
  std::vector<Column> columns = {{"passes of a warp's request", Column::Kind::left},
                                 {"least", Column::Kind::right}};
  for (unsigned s = 0; s < kSwizzleSpans.size(); ++s) columns.push_back({span_text(s), Column::Kind::right});
  Table table(columns);
  for (const SwizzledRequest& r : requests_of_tile(tile)) {
    std::vector<Cell> cells = {r.what, std::to_string(r.least)};
    for (unsigned s = 0; s < r.passes.size(); ++s)
      cells.emplace_back(std::to_string(r.passes[s]), s == tile.swizzle ? Ink::bold : Ink::plain);
    table.add(std::move(cells));
  }
  return table.text();
}

std::string addresses_text(unsigned swizzle, const std::vector<uintptr_t>& addresses) {
  Table table({{"address", Column::Kind::right},
               {"bank", Column::Kind::right},
               {"swizzled", Column::Kind::right},
               {"bank", Column::Kind::right}});
  for (const uintptr_t a : addresses) {
    const uintptr_t moved = simt::swizzled(a, swizzle);
    table.add({fmt::format("{:#x}", a), std::to_string(bank_of(a)), fmt::format("{:#x}", moved),
               std::to_string(bank_of(moved))});
  }
  return table.text();
}

}  // namespace klab
