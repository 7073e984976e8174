#include "harness/records/count_hints.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace klab {
namespace {

bool concerns(const LineCounts& l, Waste waste) {
  switch (waste) {
    case Waste::load_sectors:
      return l.space == simt::Space::global && !l.write && !l.atomic;
    case Waste::store_sectors:
      return l.space == simt::Space::global && l.write && !l.atomic;
    case Waste::conflicts:
      return l.space == simt::Space::shared;
    case Waste::collisions:
      return l.atomic;
    case Waste::lanes:
      return true;
  }
  return false;
}

/// Returns the ratio of the actual to the ideal count.
double factor(const simt::Counts& n, Waste waste) {
  const auto ratio = [](int64_t is, int64_t ideal) { return ideal > 0 ? double(is) / double(ideal) : 1; };
  switch (waste) {
    case Waste::load_sectors:
    case Waste::store_sectors:
      return ratio(n.sectors, n.ideal_sectors);
    case Waste::conflicts:
      return ratio(n.wavefronts, n.ideal_wavefronts);
    case Waste::collisions:
      return ratio(n.lanes, n.lanes - n.collisions);
    case Waste::lanes:
      return ratio(32 * n.requests, n.lanes);
  }
  return 1;
}

int64_t excess_of(const simt::Counts& n, Waste waste) {
  switch (waste) {
    case Waste::load_sectors:
    case Waste::store_sectors:
      return n.sectors - n.ideal_sectors;
    case Waste::conflicts:
      return n.conflicts();
    case Waste::collisions:
      return n.collisions;
    case Waste::lanes:
      return 32 * n.requests - n.lanes;
  }
  return 0;
}

/// Returns the ratio up to which a waste is ignored: edges and odd shapes cost a little.
double harmless(Waste waste) { return waste == Waste::lanes ? 2.0 : 1.25; }

std::string text_of(const LineCounts& l, Waste waste) {
  const simt::Counts& n = l.counts;
  const double requests = double(n.requests);
  const auto each = [&](int64_t count) { return double(count) / requests; };
  switch (waste) {
    case Waste::load_sectors:
    case Waste::store_sectors: {
      std::string text =
          fmt::format("{:.1f} sectors/request where {:.1f} would do", each(n.sectors), each(n.ideal_sectors));
      if (l.stride != 0 && l.stride != int64_t(l.width))
        text += fmt::format("; neighboring lanes are {} bytes apart", l.stride < 0 ? -l.stride : l.stride);
      return text;
    }
    case Waste::conflicts:
      return fmt::format(
          "{:.1f} bank conflicts/request: {:.1f} passes through shared memory where {:.1f} would do",
          each(n.conflicts()), each(n.wavefronts), each(n.ideal_wavefronts));
    case Waste::collisions:
      return fmt::format(
          "{:.1f} of {:.1f} lanes of an atomic find another lane of their warp at their address",
          each(n.collisions), each(n.lanes));
    case Waste::lanes:
      return fmt::format("{:.1f} of 32 lanes take part", each(n.lanes));
  }
  return "";
}

class Rungs {
 public:
  Rungs(const LabOp& op, const CountedRun& run) : op_(op), run_(run) {}

  /// Returns the first later rung that does not have this waste.
  std::string without(Waste waste) {
    const Variant* self = find_variant(run_.variant);
    bool behind = false;
    for (const Variant* v : variants_of(self->op, self->backend)) {
      if (v == self) behind = true;
      if (v == self || !behind || v->peer) continue;
      const CountedRun* other = counted(*v);
      if (other == nullptr) continue;
      const simt::Counts sum = sum_of(*other, [&](const LineCounts& l) { return concerns(l, waste); });
      if (factor(sum, waste) <= harmless(waste)) return v->id;
    }
    return "";
  }

 private:
  const CountedRun* counted(const Variant& v) {
    auto [at, fresh] = runs_.try_emplace(v.id);
    if (fresh) {
      try {
        CountedRun run = count_run(op_, v, run_.shape, run_.seed);
        if (run.error.empty() && run.findings.empty()) at->second = std::move(run);
      } catch (const std::invalid_argument&) {
        // A rung that cannot run here is not a remedy here.
      }
    }
    return at->second ? &*at->second : nullptr;
  }

  const LabOp& op_;
  const CountedRun& run_;
  std::map<std::string, std::optional<CountedRun>> runs_;
};

}  // namespace

std::vector<Hint> hints_of(const LabOp& op, const CountedRun& run) {
  int64_t all = 0;  // sectors and wavefronts: the load on the memory system
  for (const LineCounts& l : run.lines) all += l.counts.sectors + l.counts.wavefronts;
  std::vector<Hint> hints;
  Rungs rungs(op, run);
  for (const LineCounts& l : run.lines)
    for (const Waste waste :
         {Waste::load_sectors, Waste::store_sectors, Waste::conflicts, Waste::collisions, Waste::lanes}) {
      if (!concerns(l, waste) || factor(l.counts, waste) <= harmless(waste)) continue;
      const int64_t excess = excess_of(l.counts, waste);
      // An idle lane wastes a part of a request, not a sector.
      if (double(waste == Waste::lanes ? excess / 32 : excess) < 0.05 * double(all)) continue;
      hints.push_back({waste, l.file, l.line, excess, text_of(l, waste), rungs.without(waste)});
    }
  std::ranges::stable_sort(hints, [](const Hint& a, const Hint& b) {
    return (a.waste == Waste::lanes ? a.excess / 32 : a.excess) >
           (b.waste == Waste::lanes ? b.excess / 32 : b.excess);
  });
  return hints;
}

}  // namespace klab
