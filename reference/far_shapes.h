// Shapes at which an input reaches beyond 2^31 bytes and a call reads little of it.
//
// A view with large strides, a table of which a call looks up some entries: the contract allows them, and no check can draw so large an
// input. A check at these shapes has the same few pages again and again in place of it (harness/check/far_offsets.h). So the shape
// stands next to the reference of an op whose arrange() does not touch that input:
//
//   const FarShapes<Compact> kFarViews({{3, 2, 4, 600'000'011, 100'000'007, 3, 1000}});
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace klab {

struct FarShape {
  std::string_view op;
  std::vector<int64_t> shape;
};

/// All of this program.
inline std::vector<FarShape>& far_shapes() {
  static std::vector<FarShape> list;
  return list;
}

template <class Contract>
struct FarShapes {
  explicit FarShapes(std::vector<std::vector<int64_t>> shapes) {
    for (auto& shape : shapes) far_shapes().push_back({Contract::name, std::move(shape)});
  }
};

}  // namespace klab
