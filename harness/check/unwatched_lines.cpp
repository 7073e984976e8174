#include "harness/check/unwatched_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <vector>

#include "harness/simt/entered.h"

namespace klab {

std::string unwatched_lines(const Variant& variant) {
  constexpr size_t kNamed = 6;
  const std::vector<int> lines = simt::lines_not_entered(variant.file);
  std::string list;
  for (const int line : std::span(lines).first(std::min(lines.size(), kNamed)))
    list += fmt::format("{}{}", list.empty() ? "" : ", ", line);
  if (lines.size() > kNamed) list += fmt::format(" and {} more", lines.size() - kNamed);
  return list.empty() ? "" : "no watched run entered a branch in line " + list;
}

}  // namespace klab
