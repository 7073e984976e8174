#include "harness/check/shape_reader.h"

#include <cstdlib>

#include "harness/check/cases.h"
#include "harness/core/optional_dims.h"

namespace klab {

std::vector<int64_t> shape_from_text(const Op& op, const std::string& text) {
  std::vector<int64_t> shape;
  for (size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1))
    shape.push_back(std::strtoll(text.c_str() + at + 1, nullptr, 10));
  if (!fits_dims(op, shape.size()) || shape_text(op, shape) != text) return {};
  return shape;
}

}  // namespace klab
