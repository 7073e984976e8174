// Where a swizzle of the copy engine puts the 16-byte pieces of a tile in shared memory, and what that does to requests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace klab {

/// The swizzles in the order of CUtensorMapSwizzle: none, and by spans of 32, 64, 128 bytes.
inline constexpr std::array<unsigned, 4> kSwizzleSpans = {0, 32, 64, 128};

/// Returns the index of a span in kSwizzleSpans. Throws std::invalid_argument for any other number.
unsigned swizzle_of_span(unsigned span);

/// Returns the passes of a request to shared memory under each swizzle: every address is moved as the copy engine would move it.
std::array<int64_t, 4> passes_under_swizzles(bool write, uint32_t bytes, uint32_t mask,
                                             const uintptr_t* address);

/// Rows of a tile that follow each other in shared memory.
struct SwizzledTile {
  unsigned swizzle = 3;      // index in kSwizzleSpans
  uint32_t row_bytes = 128;  // a multiple of 16
  uint32_t element = 2;      // bytes
  uintptr_t base = 0;        // offset of the tile in shared memory
  uintptr_t at(uint32_t row, uint32_t byte) const { return base + uintptr_t(row) * row_bytes + byte; }
};

/// A request of a warp to a tile, and its passes under each swizzle.
struct SwizzledRequest {
  std::string what;
  uint32_t bytes = 0;  // a lane
  std::array<uintptr_t, 32> address{};
  std::array<int64_t, 4> passes{};
  int64_t least = 0;
};
/// Returns the requests that kernels with tiles make: rows by vectors, columns of elements, rows of ldmatrix.
std::vector<SwizzledRequest> requests_of_tile(const SwizzledTile& tile);

/// Returns the tile as lines of text: for each row the banks of its pieces, as they lie without and with the swizzle.
std::string tile_text(const SwizzledTile& tile);
std::string requests_text(const SwizzledTile& tile);
/// Returns addresses with their banks before and after the swizzle.
std::string addresses_text(unsigned swizzle, const std::vector<uintptr_t>& addresses);

}  // namespace klab
