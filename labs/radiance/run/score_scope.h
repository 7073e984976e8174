// Which test views a run scores, at what size and for how long: chosen before the first step, so that the cost of
// a score is known before it is paid.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/evaluate.h"

namespace klab {

inline constexpr double kScoreSeconds = 60;  // without --score
inline constexpr int kScoreSide = 800;       // pixels of a view's longer side, at most
inline constexpr double kScoreAll = std::numeric_limits<double>::infinity();

/// Reads --score: "all", or seconds. Throws std::invalid_argument.
double score_seconds_from(const std::string& text);
/// Writes it: "all" or "60".
std::string score_text(double seconds);

struct ScoreScope {
  double seconds = kScoreAll;  // the first view that ends later is the last; kScoreAll: every view is scored
  int64_t of = 0;              // test views of the scene
  int reduced = 1;             // factor by which the first view was made smaller in each direction
  int full_width = 0, full_height = 0;  // of the first view before that
  int width = 0, height = 0;            // of the first view
  std::vector<int64_t> views;           // numbers of the views, in the order in which they are scored
  double expected = 0;                  // seconds for them; 0: unknown

  bool all() const { return seconds == kScoreAll; }
};

/// Begins a scope: within a time, makes views larger than kScoreSide smaller by whole factors. Pictures may still be on
/// the disk.
ScoreScope begin_scope(std::vector<View>& test, double seconds);

/// Makes a view smaller by a whole factor: camera, picture, and the pixels that count.
void reduce_view(View& view, int factor);

/// Returns the seconds that a pixel takes, by pictures of rising size until one takes long enough to be timed. The
/// camera's own size is the largest.
double seconds_per_pixel(const std::function<Picture(const Camera&)>& render, const Camera& camera);

/// Chooses views, evenly spread, that fit the scope's time at `pixel` seconds a pixel: all, or every second, fourth, ...
/// one; and where the fewest take too long, smaller ones.
void choose_views(ScoreScope& scope, std::vector<View>& test, double pixel);

/// Returns the announcement: views, size, time, and the cost of all views at their full size.
std::string scope_text(const ScoreScope& scope, double pixel);

/// Keeps the part of a scope that one of several processes scores.
ScoreScope part_of(ScoreScope scope, int process, int processes);

/// Returns what the protocol of a score says of the scope.
Scored scored_by(const ScoreScope& scope);

}  // namespace klab
