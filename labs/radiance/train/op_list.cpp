#include "labs/radiance/train/op_list.h"

#include <fmt/format.h>

#include "harness/core/lab.h"

namespace klab {

int64_t Arena::bytes() const {
  int64_t sum = 0;
  for (const Tensor& t : tensors_) sum += bytes(t);
  return sum;
}

std::string text_of(const OpList& list, const Arena& arena) {
  std::string text;
  for (const OpCall& call : list.calls()) {
    std::vector<std::string> dims, names;
    for (const int64_t d : call.shape)
      dims.push_back(Arena::is_symbol(d) ? arena.symbols()[Arena::symbol_of(d)].name : std::to_string(d));
    for (const void* p : call.tensors) {
      const Arena::Place place = Arena::place_of(p);
      if (place.tensor < 0) continue;
      names.push_back(arena.tensors()[size_t(place.tensor)].name);
      if (place.row > 0) names.back() += fmt::format("[{}]", place.row);
    }
    if (call.op.empty())
      text += fmt::format("fill {} with {:#04x}\n", names.front(), call.byte);
    else
      text += fmt::format("{}({}) {}\n", call.op, fmt::join(dims, ", "), fmt::join(names, " "));
  }
  return text;
}

}  // namespace klab
