// What two runs know of one variant: its time over the time of an anchor, session by session.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

/// Everything of one op, shape, number of threads and cache in one run: session -> variant -> row.
using Sessions = std::map<int, std::map<std::string, const Row*>>;

/// By "op|shape|threads|cache". The rows stay where they are.
std::map<std::string, Sessions> ladders_of(const Recording& run);

/// "hot" or "cold", without how many copies.
std::string cache_state(const std::string& cache);

/// The ceiling that rows of a variant name in most sessions of both runs; empty when they share none. Which resource
/// binds is measured, so that it may be another where two come to nearly the same.
std::string common_ceiling(const std::string& variant, const Sessions& base, const Sessions& fresh);

/// log(time / time of the anchor), one a session or, without sessions, one a round.
struct Units {
  std::vector<double> values;
  int left_out = 0;  // sessions or rounds in which other work took the processor
};

/// Something to measure a variant by, and what it gives.
struct Anchor {
  std::string name;  // id of a variant, kCeiling or kClock
  Units base, fresh;
  double spread = 0;  // how well the base repeats: median distance from the median, as a log ratio
};
inline constexpr const char* kCeiling = "ceiling";
inline constexpr const char* kClock = "clock";

inline constexpr int kFewestUnits = 4;  // below, a run is a repetition and no measurement

/// The anchors that both runs have for a variant, best first: first rung of its ladder, libraries, ceiling; or the
/// clock alone. `left_out`: the most that other work cost any of them.
std::vector<Anchor> anchors_of(const std::string& variant, const Sessions& base, const Sessions& fresh,
                               bool sessions, bool absolute, int* left_out);

}  // namespace klab
