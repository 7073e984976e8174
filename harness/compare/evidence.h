// The measurements of one variant in two runs: its time relative to an anchor, session by session.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

/// All rows of one op, shape, number of threads and cache state in one run: session -> variant -> row.
using Sessions = std::map<int, std::map<std::string, const Row*>>;

/// Groups rows by "op|shape|threads|cache". Keeps pointers to the rows.
std::map<std::string, Sessions> ladders_of(const Recording& run);

/// Returns "hot" or "cold", without the number of copies.
std::string cache_state(const std::string& cache);

/// Returns the ceiling that a variant's rows name in most sessions of both runs; empty if they share none.
/// The binding resource is measured, so it may differ between sessions if two limit almost equally.
std::string common_ceiling(const std::string& variant, const Sessions& base, const Sessions& fresh);

/// log(time / time of the anchor), one per session, or one per round if there are no sessions.
struct Units {
  std::vector<double> values;
  int left_out = 0;             // sessions or rounds in which other work took the processor
  int all = 0;                  // sessions or rounds with the variant and its anchor
  size_t rounds = 0, lost = 0;  // measured, and left out: whole sessions, and single rounds of others
  /// Returns whether a third or more is left out: what remains was selected by luck.
  bool lost_a_third() const { return lost > 0 && 3 * lost >= rounds; }
};

/// A reference for a variant's time, with the resulting ratios.
struct Anchor {
  std::string name;  // id of a variant, kCeiling or kClock
  Units base, fresh;
  double spread = 0;  // repeatability in the base: median distance from the median, as a log ratio
};
inline constexpr const char* kCeiling = "ceiling";
inline constexpr const char* kClock = "clock";

inline constexpr int kFewestUnits = 4;  // a run with fewer is a repetition, not a measurement

/// Returns the anchors that both runs have for a variant, best first: first rung of its ladder, libraries,
/// ceiling; or only the clock. Rounds and sessions that other work disturbed are left out by one rule for both runs,
/// which starts from the quieter of the two. `most_lost` is the anchor that lost most, whether or not it is returned.
std::vector<Anchor> anchors_of(const std::string& variant, const Sessions& base, const Sessions& fresh,
                               bool sessions, bool absolute, Anchor* most_lost);

}  // namespace klab
