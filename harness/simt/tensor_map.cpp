#include "harness/simt/tensor_map.h"

#include <algorithm>
#include <cstring>

namespace klab::simt {
namespace {

constexpr uint32_t kMark = 0x7E50A3B1U;

unsigned element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 4;
  }
  return 0;
}

bool is_float(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return true;
    default:
      return false;
  }
}

std::string of(const char* array, unsigned d, uint64_t value) {
  return std::string(array) + "[" + std::to_string(d) + "] is " + std::to_string(value);
}

/// The rules of the Driver API manual, "cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col". `inner_name`: of box[0].
std::string broken_rule(const CUtensorMap* map, const TensorTiling& t, const char* inner_name = "boxDim[0]") {
  const unsigned element = element_bytes(t.type);
  if (map == nullptr || reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return "tensorMap must lie at a multiple of 64 bytes";
  if (element == 0) return "tensorDataType " + std::to_string(int(t.type)) + " is not known";
  if (t.rank < 1 || t.rank > kMostDimensions)
    return "tensorRank is " + std::to_string(t.rank) + ", and must be 1 to 5";
  if (t.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
    return "interleave is not modeled on the host: CU_TENSOR_MAP_INTERLEAVE_NONE is";
  if (unsigned(t.fill) > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return "oobFill " + std::to_string(int(t.fill)) + " is not known";
  if (t.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float(t.type))
    return "oobFill is NaN, and tensorDataType has integers";
  if (unsigned(t.swizzle) > CU_TENSOR_MAP_SWIZZLE_128B)
    return "swizzle " + std::to_string(int(t.swizzle)) + " is not known";
  if (t.address == nullptr || reinterpret_cast<uintptr_t>(t.address) % 16 != 0)
    return "globalAddress must be a multiple of 16 bytes";
  for (unsigned d = 0; d < t.rank; ++d) {
    if (t.sizes[d] < 1 || t.sizes[d] > uint64_t(1) << 32)
      return of("globalDim", d, t.sizes[d]) + ", and must be 1 to 2^32";
    if (t.box[d] < 1 || t.box[d] > 256) return of("boxDim", d, t.box[d]) + ", and must be 1 to 256";
    if (t.steps[d] < 1 || t.steps[d] > 8) return of("elementStrides", d, t.steps[d]) + ", and must be 1 to 8";
    if (d > 0 && (t.strides[d - 1] % 16 != 0 || t.strides[d - 1] >= uint64_t(1) << 40))
      return of("globalStrides", d - 1, t.strides[d - 1]) + ", and must be a multiple of 16 below 2^40";
  }
  const uint64_t inner = uint64_t(t.box[0]) * element;
  if (inner % 16 != 0)
    return std::string(inner_name) + " is " + std::to_string(t.box[0]) + " elements of " +
           std::to_string(element) + " bytes, and must be a multiple of 16 bytes";
  const uint64_t span = t.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? inner : uint64_t(16) << int(t.swizzle);
  if (inner > span)
    return std::string(inner_name) + " is " + std::to_string(t.box[0]) + " elements, " +
           std::to_string(inner) + " bytes, more than the swizzle of " + std::to_string(span) + " bytes";
  return "";
}

}  // namespace

size_t TensorShape::box_bytes() const {
  size_t bytes = size_t(box[0]) * element;
  if (pixels > 0) return bytes * pixels;
  for (int d = 1; d < rank; ++d) bytes *= size_t(box[d] + steps[d] - 1) / steps[d];
  return bytes;
}

std::string encode_tiled(CUtensorMap* map, const TensorTiling& t) {
  if (std::string rule = broken_rule(map, t); !rule.empty()) return rule;
  TensorShape s;
  s.mark = kMark;
  s.rank = uint8_t(t.rank);
  s.element = uint8_t(element_bytes(t.type));
  s.swizzle = uint8_t(t.swizzle);
  s.type = uint8_t(t.type);
  s.fills_nan = t.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  s.address = reinterpret_cast<uintptr_t>(t.address);
  for (unsigned d = 0; d < t.rank; ++d) {
    s.box[d] = uint16_t(t.box[d]);
    s.steps[d] = uint8_t(t.steps[d]);
    s.last[d] = uint32_t(t.sizes[d] - 1);
    if (d > 0) s.strides[d - 1] = uint32_t(t.strides[d - 1] / 16);
  }
  static_assert(sizeof s <= sizeof(CUtensorMap));
  std::memset(static_cast<void*>(map), 0, sizeof *map);
  std::memcpy(static_cast<void*>(map), &s, sizeof s);
  return "";
}

std::string encode_im2col(CUtensorMap* map, TensorTiling t, const TensorPixels& p) {
  if (t.rank < 3 || t.rank > kMostDimensions)
    return "tensorRank is " + std::to_string(t.rank) + ", and must be 3 to 5";
  if (p.channels < 1 || p.channels > 256)
    return "channelsPerPixel is " + std::to_string(p.channels) + ", and must be 1 to 256";
  if (p.pixels < 1 || p.pixels > 1024)
    return "pixelsPerColumn is " + std::to_string(p.pixels) + ", and must be 1 to 1024";
  const int most = t.rank == 3 ? 1 << 15 : t.rank == 4 ? 1 << 7 : 1 << 4;
  for (unsigned d = 0; d + 2 < t.rank; ++d) {
    for (const auto& [name, corner] :
         {std::pair("pixelBoxLowerCorner", p.lower[d]), std::pair("pixelBoxUpperCorner", p.upper[d])})
      if (corner < -most || corner >= most)
        return std::string(name) + "[" + std::to_string(d) + "] is " + std::to_string(corner) +
               ", and must be " + std::to_string(-most) + " to " + std::to_string(most - 1);
    if (int64_t(t.sizes[d + 1]) - 1 + p.upper[d] < p.lower[d])
      return "the bounding box has no pixel in dimension " + std::to_string(d + 1);
  }
  const cuuint32_t box[kMostDimensions] = {p.channels, 1, 1, 1, 1};
  t.box = box;
  if (std::string rule = broken_rule(map, t, "channelsPerPixel"); !rule.empty()) return rule;
  if (std::string rule = encode_tiled(map, t); !rule.empty()) return rule;
  TensorShape s;
  read_tensor_map(map, s);
  s.pixels = uint16_t(p.pixels);
  for (unsigned d = 0; d + 2 < t.rank; ++d) {
    s.lower[d] = int16_t(p.lower[d]);
    s.upper[d] = int16_t(p.upper[d]);
  }
  std::memcpy(static_cast<void*>(map), &s, sizeof s);
  return "";
}

bool read_tensor_map(const CUtensorMap* map, TensorShape& shape) {
  std::memcpy(static_cast<void*>(&shape), map, sizeof shape);
  return shape.mark == kMark && shape.rank >= 1 && shape.rank <= kMostDimensions;
}

std::string replace_address(CUtensorMap* map, void* address) {
  TensorShape s;
  if (map == nullptr || reinterpret_cast<uintptr_t>(map) % 64 != 0 || !read_tensor_map(map, s))
    return "tensorMap is no map that cuTensorMapEncodeTiled has made";
  if (address == nullptr || reinterpret_cast<uintptr_t>(address) % 16 != 0)
    return "globalAddress must be a multiple of 16 bytes";
  s.address = reinterpret_cast<uintptr_t>(address);
  std::memcpy(static_cast<void*>(map), &s, sizeof s);
  return "";
}

std::string replace_field(CUtensorMap* map, MapField field, unsigned ordinal, uint64_t value) {
  TensorShape s;
  if (!read_tensor_map(map, s)) return "at an address at which no tensor map lies";
  const auto number = std::to_string(value);
  const unsigned dimensions = field == MapField::global_stride ? kMostDimensions - 1 : kMostDimensions;
  if (ordinal >= dimensions) return "of dimension " + std::to_string(ordinal) + ": there is none";
  switch (field) {
    case MapField::global_address:
      if (value == 0 || value % 16 != 0) return "global_address: it must be a multiple of 16 bytes";
      s.address = value;
      break;
    case MapField::rank:  // counted from zero
      if (value >= kMostDimensions) return "rank " + number + ": it must be 0 to 4, one less than the rank";
      s.rank = uint8_t(value + 1);
      break;
    case MapField::box_dim:
      if (value < 1 || value > 256) return "box_dim " + number + ": it must be 1 to 256";
      s.box[ordinal] = uint16_t(value);
      break;
    case MapField::global_dim:
      if (value < 1 || value > uint64_t(1) << 32) return "global_dim " + number + ": it must be 1 to 2^32";
      s.last[ordinal] = uint32_t(value - 1);
      break;
    case MapField::global_stride:
      if (value % 16 != 0 || value >= uint64_t(1) << 40)
        return "global_stride " + number + ": it must be a multiple of 16 bytes below 2^40";
      s.strides[ordinal] = uint32_t(value / 16);
      break;
    case MapField::element_stride:
      if (value < 1 || value > 8) return "element_stride " + number + ": it must be 1 to 8";
      s.steps[ordinal] = uint8_t(value);
      break;
    case MapField::elemtype: {
      const auto type = CUtensorMapDataType(value);
      if (element_bytes(type) == 0) return "elemtype " + number + ": it is not known";
      s.type = uint8_t(value);
      s.element = uint8_t(element_bytes(type));
      break;
    }
    case MapField::swizzle_mode:
      if (value > CU_TENSOR_MAP_SWIZZLE_128B)
        return "swizzle_mode " + number + ": it is not modeled on the host";
      s.swizzle = uint8_t(value);
      break;
    case MapField::fill_mode:
      if (value > 1) return "fill_mode " + number + ": it must be 0 or 1";
      s.fills_nan = uint8_t(value);
      break;
    case MapField::interleave_layout:
      if (value != 0) return "interleave_layout " + number + ": it is not modeled on the host";
      break;
  }
  s.changed = 1;
  std::memcpy(static_cast<void*>(map), &s, sizeof s);
  return "";
}

std::vector<BoxRow> rows_of_box(const TensorShape& s, const int* at, size_t* row_bytes) {
  // Elements of dimension 0 lie next to each other: its step has no effect (Driver API, "elementStrides").
  const int64_t first = at[0], end = std::min<int64_t>(first + s.box[0], int64_t(s.last[0]) + 1);
  const int64_t begin = std::max<int64_t>(first, 0);
  *row_bytes = size_t(s.box[0]) * s.element;
  std::vector<BoxRow> rows;
  int count[kMostDimensions] = {1, 1, 1, 1, 1}, k[kMostDimensions] = {};
  size_t all = 1;
  for (int d = 1; d < s.rank; ++d) {
    count[d] = (s.box[d] + s.steps[d] - 1) / s.steps[d];
    all *= size_t(count[d]);
  }
  rows.reserve(all);
  for (size_t r = 0; r < all; ++r) {
    BoxRow row{uint32_t(r * *row_bytes), 0, 0, nullptr};
    bool inside = begin < end;
    int64_t offset = begin * s.element;
    for (int d = 1; d < s.rank; ++d) {
      const int64_t x = int64_t(at[d]) + int64_t(k[d]) * s.steps[d];
      inside = inside && x >= 0 && x <= int64_t(s.last[d]);
      offset += x * (int64_t(s.strides[d - 1]) * 16);
    }
    if (inside) {
      row.lead = uint32_t((begin - first) * s.element);
      row.bytes = uint32_t((end - begin) * s.element);
      row.inside = reinterpret_cast<char*>(s.address) + offset;
    }
    rows.push_back(row);
    for (int d = 1; d < s.rank && ++k[d] == count[d]; ++d) k[d] = 0;
  }
  return rows;
}

std::vector<BoxRow> rows_of_pixels(const TensorShape& s, const int* at, const uint16_t* offsets,
                                   size_t* row_bytes) {
  const int64_t first = at[0], end = std::min<int64_t>(first + s.box[0], int64_t(s.last[0]) + 1);
  const int64_t begin = std::max<int64_t>(first, 0);
  *row_bytes = size_t(s.box[0]) * s.element;
  const int images = s.rank - 1;
  int64_t x[kMostDimensions] = {};
  for (int d = 1; d < s.rank; ++d) x[d] = at[d];
  std::vector<BoxRow> rows;
  rows.reserve(s.pixels);
  for (unsigned p = 0; p < s.pixels; ++p) {
    BoxRow row{uint32_t(p * *row_bytes), 0, 0, nullptr};
    bool inside = begin < end;
    int64_t offset = begin * s.element;
    for (int d = 1; d < s.rank; ++d) {
      const int64_t y = x[d] + (d < images && offsets != nullptr ? offsets[d - 1] : 0);
      inside = inside && y >= 0 && y <= int64_t(s.last[d]);
      offset += y * (int64_t(s.strides[d - 1]) * 16);
    }
    if (inside) {
      row.lead = uint32_t((begin - first) * s.element);
      row.bytes = uint32_t((end - begin) * s.element);
      row.inside = reinterpret_cast<char*>(s.address) + offset;
    }
    rows.push_back(row);
    // The next pixel, within the bounding box; behind its last one the next image.
    for (int d = 1; d < s.rank; ++d) {
      x[d] += s.steps[d];
      if (d == images || x[d] <= int64_t(s.last[d]) + s.upper[d - 1]) break;
      x[d] = s.lower[d - 1];
    }
  }
  return rows;
}

uint32_t fill_pattern(const TensorShape& s) {
  return s.fills_nan == 0 ? 0 : s.element == 2 ? 0x7FFF7FFFU : s.element == 8 ? ~0U : 0x7FFFFFFFU;
}

}  // namespace klab::simt
