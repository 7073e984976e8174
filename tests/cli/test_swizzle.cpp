// klab swizzle: where pieces of 16 bytes go, and what that does to the passes of requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "harness/cli/swizzle.h"
#include "harness/simt/tensor_map.h"

namespace klab {
namespace {

const SwizzledRequest& request_called(const std::vector<SwizzledRequest>& list, const std::string& what) {
  const auto at = std::ranges::find(list, what, &SwizzledRequest::what);
  if (at == list.end()) throw std::runtime_error("no request " + what);
  return *at;
}

TEST(Swizzle, PermutesThePiecesOfEightRows) {
  for (unsigned s = 0; s < kSwizzleSpans.size(); ++s) {
    std::set<uintptr_t> places;
    for (uintptr_t a = 0; a < 1024; a += 16) {
      const uintptr_t moved = simt::swizzled(a, s);
      EXPECT_EQ(moved / 128, a / 128);
      EXPECT_EQ(simt::swizzled(moved, s), a);
      places.insert(moved);
    }
    EXPECT_EQ(places.size(), 64U);
  }
}

TEST(Swizzle, MakesColumnsOfATileFreeOfConflictsWhereItsSpanIsTheRow) {
  const auto list = requests_of_tile({.swizzle = 3, .row_bytes = 128, .element = 2});
  const SwizzledRequest& rows = request_called(list, "ldmatrix.x4 of 32 rows");
  EXPECT_EQ(rows.passes, (std::array<int64_t, 4>{32, 16, 8, 4}));
  EXPECT_EQ(rows.least, 4);
  const SwizzledRequest& along = request_called(list, "lanes along the rows, 16 B each");
  EXPECT_EQ(along.passes, (std::array<int64_t, 4>{4, 4, 4, 4}));
  const SwizzledRequest& column = request_called(list, "a lane a row, the first 2 B of each");
  EXPECT_EQ(column.passes, (std::array<int64_t, 4>{32, 16, 8, 4}));
  EXPECT_EQ(column.least, 1);
}

TEST(Swizzle, RowsOf64BytesNeedTheSwizzleOf64Bytes) {
  const auto list = requests_of_tile({.swizzle = 2, .row_bytes = 64, .element = 2});
  EXPECT_EQ(request_called(list, "ldmatrix.x4 of 32 rows").passes[0], 16);
  EXPECT_EQ(request_called(list, "ldmatrix.x4 of 32 rows").passes[2], 4);
}

/// The text with one space between its words: the widths of columns follow their widest cells.
std::string one_space(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ' && out.back() != '\n')) out += c;
  return out;
}

TEST(Swizzle, ShowsTheBanksOfATileAndOfAddresses) {
  const std::string tile = one_space(tile_text({.swizzle = 3, .row_bytes = 128, .element = 2}));
  EXPECT_NE(tile.find("\n1 0 4 8 12 16 20 24 28\n"), std::string::npos) << tile;
  EXPECT_NE(tile.find("\n1 4 0 12 8 20 16 28 24\n"), std::string::npos) << tile;
  const std::string addresses = one_space(addresses_text(3, {0x80, 0x490}));
  EXPECT_NE(addresses.find("\n0x80 0 0x90 4\n"), std::string::npos) << addresses;
  EXPECT_NE(addresses.find("\n0x490 4 0x480 0\n"), std::string::npos) << addresses;
}

TEST(Swizzle, RefusesOtherSpans) {
  EXPECT_EQ(swizzle_of_span(0), 0U);
  EXPECT_THROW(swizzle_of_span(16), std::invalid_argument);
}

}  // namespace
}  // namespace klab
