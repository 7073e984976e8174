#include "harness/cli/shape_option.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/cli/number_option.h"
#include "harness/core/optional_dims.h"
#include "harness/records/memory_left.h"

namespace klab {
namespace {

// The largest product of all extents for which no count of elements exceeds 63 bits.
constexpr double kMostElements = 1e18;

// Memory of a call in multiples of its tensors: the variant's, the reference's in double precision, two
// copies.
constexpr double kSizesHeld = 6;

}  // namespace

void add_shape(CLI::App& app, std::vector<int64_t>& shape, const char* text) {
  app.add_option("--shape", shape, text)->delimiter(',')->check(number_within<int64_t>(range::extent));
}

void require_shape(const LabOp& lab_op, const std::vector<int64_t>& shape) {
  const Op& op = lab_op.op;
  std::string dims;
  for (const std::string& d : op.dims) dims += (dims.empty() ? "" : ",") + d;
  if (!fits_dims(op, shape.size()))
    throw std::invalid_argument(fmt::format("--shape has {} numbers but {} takes {} ({})", shape.size(),
                                            op.name, op.dims.size(), dims));
  double product = 1;
  for (const int64_t extent : shape) product *= extent > 0 ? double(extent) : 1;
  if (product > kMostElements)
    throw std::invalid_argument(
        fmt::format("--shape is too large for any memory: {} takes ({})", op.name, dims));
  if (!op.valid(shape))
    throw std::invalid_argument(fmt::format("--shape is not legal for {} ({})", op.name, dims));
  double bytes = 0;
  for (const TensorSpec& t : op.tensors(shape)) {
    double count = 1;
    for (const int64_t d : t.dims) count *= double(d);
    bytes += count * double(size_of(t.element));
  }
  require_memory(int64_t(std::min(kSizesHeld * bytes, 1e18)), shape_text(op, shape) + " of " + op.name,
                 "take a smaller --shape");
}

}  // namespace klab
