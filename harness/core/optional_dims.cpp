#include "harness/core/optional_dims.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace klab {
namespace {

// A function-local static, so that it exists before the first variant registers.
std::map<std::string, std::set<std::string>, std::less<>>& optional_names() {
  static std::map<std::string, std::set<std::string>, std::less<>> names;
  return names;
}

}  // namespace

void keep_optional_names(std::string_view op, std::span<const char* const> names) {
  if (!names.empty()) optional_names()[std::string(op)].insert(names.begin(), names.end());
}

bool is_optional_dim(const Op& op, size_t d) {
  const auto names = optional_names().find(op.name);
  return d < op.dims.size() && names != optional_names().end() && names->second.contains(op.dims[d]);
}

bool is_dim(const Op& op, std::string_view name) { return std::ranges::find(op.dims, name) != op.dims.end(); }

size_t fewest_dims(const Op& op) {
  size_t count = op.dims.size();
  while (count > 0 && is_optional_dim(op, count - 1)) --count;
  return count;
}

bool fits_dims(const Op& op, size_t numbers) {
  return numbers >= fewest_dims(op) && numbers <= op.dims.size();
}

ShapeView shortest(const Op& op, ShapeView shape) {
  const size_t fewest = fewest_dims(op);
  while (shape.size() > fewest && shape.back() == 0) shape = shape.first(shape.size() - 1);
  return shape;
}

std::vector<int64_t> with_all_dims(const Op& op, ShapeView shape) {
  std::vector<int64_t> all(shape.begin(), shape.end());
  if (fits_dims(op, all.size())) all.resize(op.dims.size(), 0);
  return all;
}

}  // namespace klab
