#include "harness/simt/line_counts.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/simt/modules.h"

namespace klab {
namespace {

bool same_launch(const simt::LaunchRecord& a, const simt::LaunchRecord& b) {
  return a.kernel == b.kernel && std::equal(a.grid, a.grid + 3, b.grid) &&
         std::equal(a.block, a.block + 3, b.block) && a.dynamic_shared == b.dynamic_shared;
}

}  // namespace

int64_t LineCounts::excess() const {
  return counts.sectors - counts.ideal_sectors + counts.conflicts() + counts.collisions;
}

bool is_reduction(const LineCounts& l) {
  return l.atomic && l.space == simt::Space::global && (l.async || !l.returns);
}

std::string kind_of(const LineCounts& l) {
  std::string kind = l.space == simt::Space::shared     ? "shared "
                     : l.space == simt::Space::constant ? "constant "
                                                        : "";
  kind += is_reduction(l) ? "reduction"
          : l.atomic      ? "atomic"
          : l.async       ? (l.write ? "copy in" : "copy")
          : l.write       ? "store"
                          : "load";
  return kind;
}

std::string compiled_widths(const LineCounts& l) {
  std::string text;
  for (int k = 0; k < 8; ++k)
    if ((l.compiled_widths >> k & 1) != 0) text += (text.empty() ? "" : ", ") + std::to_string(1 << k);
  return text.empty() ? "none" : text + " B";
}

std::vector<simt::LaunchRecord> launches_together(const std::vector<simt::LaunchRecord>& all) {
  std::vector<simt::LaunchRecord> list;
  for (const simt::LaunchRecord& l : all) {
    const auto at = std::ranges::find_if(list, [&](const auto& k) { return same_launch(k, l); });
    if (at == list.end()) {
      list.push_back(l);
    } else {
      at->times += l.times;
      at->barriers = std::max(at->barriers, l.barriers);
      at->thread_accesses = std::max(at->thread_accesses, l.thread_accesses);
    }
  }
  return list;
}

std::vector<LineCounts> counts_by_line(const simt::Profile& profile) {
  using Key = std::tuple<std::string, int, simt::Space, bool, bool, bool, bool, unsigned>;
  std::map<Key, LineCounts> lines;
  for (const simt::Site& s : profile.sites()) {
    if (s.counts.requests == 0) continue;
    const simt::SourceLine at = simt::source_of(s.pc);
    LineCounts& l = lines[{at.file, at.line, s.space, s.write, s.atomic, s.returns, s.async, s.width}];
    if (l.counts.requests == 0)
      l = {at.file, at.line, s.space, s.write, s.atomic, s.async, s.width, s.stride, {}};
    l.counts.add(s.merged() ? s.as_merged() : s.counts);
    l.returns = s.returns;
    l.compiled_atomics |= s.compiled_atomics;
    l.merged = l.merged || s.merged();
    l.compiled_known = l.compiled_known || s.compiled_known;
    l.compiled_widths |= s.compiled_widths;
    l.compiled.add(s.compiled);
  }
  std::vector<LineCounts> list;
  for (auto& [key, line] : lines) list.push_back(std::move(line));
  return list;
}

}  // namespace klab
