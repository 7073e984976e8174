// Tensor maps: the description of a tensor in device memory by which copies of boxes find their elements (CUDA Driver API,
// "Tensor Map Object Management"). Has the driver's names, so that a kernel's host code is the same here and on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/cluster_api.h"
#include "harness/simt/tensor_map_types.h"

namespace klab::simt {

inline constexpr int kMostDimensions = 5;

/// The arguments of cuTensorMapEncodeTiled. Dimension 0 is the one whose elements are neighbors; strides are bytes, from
/// dimension 1 on.
struct TensorTiling {
  CUtensorMapDataType type;
  unsigned rank;
  void* address;
  const cuuint64_t *sizes, *strides;
  const cuuint32_t *box, *steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapFloatOOBfill fill;
};

/// Sets the map. Returns an empty string, or the rule of the driver's manual that the arguments break (the map stays as it
/// is).
std::string encode_tiled(CUtensorMap* map, const TensorTiling& what);

/// What cuTensorMapEncodeIm2col has in place of a box: pixels are taken from a bounding box, which begins `lower` from the first
/// and ends `upper` behind the last one of each dimension between channels and images.
struct TensorPixels {
  const int *lower, *upper;
  cuuint32_t channels, pixels;  // of a pixel, of a copy
};
std::string encode_im2col(CUtensorMap* map, TensorTiling what, const TensorPixels& pixels);

/// A map's content.
struct TensorShape {
  uint32_t mark = 0;  // tells a map from other memory
  uint8_t rank = 0, element = 0 /* bytes */, swizzle = 0, type = 0 /* CUtensorMapDataType */;
  uint8_t steps[kMostDimensions] = {};
  uint16_t box[kMostDimensions] = {};
  uint64_t address = 0;
  uint8_t changed = 0;                         // by tensormap.replace, and not acquired since
  uint8_t fills_nan = 0;                       // elements outside the tensor
  uint32_t last[kMostDimensions] = {};         // size - 1
  uint32_t strides[kMostDimensions - 1] = {};  // in 16 bytes
  uint16_t pixels = 0;                         // of a copy; 0: boxes
  int16_t lower[kMostDimensions - 2] = {}, upper[kMostDimensions - 2] = {};

  /// Bytes that a box fills in shared memory.
  size_t box_bytes() const;
};

/// Reads a map; false if the memory does not hold one.
bool read_tensor_map(const CUtensorMap* map, TensorShape& shape);

/// Changes the address of a map's tensor. Returns an empty string, or the rule that is broken (the map stays as it is).
std::string replace_address(CUtensorMap* map, void* address);

/// Changes a field of a map, of dimension `ordinal` where there are several. Returns an empty string, or why it cannot.
std::string replace_field(CUtensorMap* map, MapField field, unsigned ordinal, uint64_t value);

/// A row of a box: neighbors in the tensor and, before the swizzle, in shared memory.
struct BoxRow {
  uint32_t offset;       // of the row in shared memory, bytes
  uint32_t lead, bytes;  // `lead` bytes outside the tensor, then `bytes` inside, then none again
  char* inside;          // in device memory; nullptr if bytes is 0
};
/// Returns the rows of the box whose first element has the coordinates `at`, and the length of one in bytes.
std::vector<BoxRow> rows_of_box(const TensorShape& shape, const int* at, size_t* row_bytes);
/// The same for a map of im2col: a row for each pixel, from the one at `at` on in the order of dimensions within the bounding box,
/// read `offsets` from there (PTX manual, "Im2col mode"); nullptr: none.
std::vector<BoxRow> rows_of_pixels(const TensorShape& shape, const int* at, const uint16_t* offsets,
                                   size_t* row_bytes);
/// Pattern of the elements outside the tensor, for each 4 bytes.
uint32_t fill_pattern(const TensorShape& shape);

/// Returns the place of a 16-byte piece of shared memory under a swizzle (PTX manual, "Swizzling modes"): bits 4 to 6 of the
/// address change by bits 7 to 9 at 128 bytes, fewer of them at 64 and 32.
inline uintptr_t swizzled(uintptr_t address, unsigned swizzle) {
  const uintptr_t bits = swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 7
                         : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 3
                         : swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 1
                                                                : 0;
  return address ^ (address >> 7 & bits) << 4;
}

}  // namespace klab::simt
