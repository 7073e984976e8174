// Scores a few test views while a run trains: a fixed subset at a fixed size, chosen once from the measured time of a
// pixel, so that it takes at most a share of the time.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/evaluate.h"

namespace klab {

/// How much is scored, and how often.
struct ValidationChoice {
  int views = 0;     // of the test views, evenly spread
  int factor = 1;    // by which their pictures are reduced
  double every = 0;  // seconds of training between two validations
};

/// Chooses at most kMostValidated views, and the largest pictures, whose time fits into the share of an interval of
/// `every` seconds. `fixed` seconds pass in any case. Where two views (or the only one) of 100 pixels along the
/// shorter side do not fit, the interval grows.
ValidationChoice choose_validation(int64_t test_views, int width, int height, double seconds_a_pixel,
                                   double fixed, double every);

inline constexpr double kValidationShare = 0.03;  // of the time of training
inline constexpr int kMostValidated = 8;
inline constexpr int kValidationSide = 100;  // pixels of the shorter side, at least, where pictures have them

/// Returns a view reduced by a factor, with its picture in memory. A pixel counts if all that it averages do.
View reduced_view(const View& view, int factor);

/// Follows the scores on unseen views.
class Plateau {
 public:
  static constexpr double kGain = 0.01;  // dB by which a score must exceed the best one
  /// Takes a score, and returns how many in a row have not been a gain.
  int64_t add(double psnr);

 private:
  std::optional<double> best_;
  int64_t without_ = 0;
};

struct ValidationPoint {
  int64_t step = 0;
  double seconds = 0;  // of training
  double psnr = 0, ssim = 0;
};

/// Time between two validations: one of both.
struct ValidationInterval {
  double seconds = 0;  // of training
  int64_t steps = 0;   // 0: by seconds
};

/// Reads "10" as seconds and "500steps" as steps. Throws std::invalid_argument naming --eval-every for other texts.
ValidationInterval validation_interval_from(const std::string& text);

class Validation {
 public:
  using Render = std::function<Picture(const Camera&)>;

  /// `test` must outlive it and have a view; `begin` and `step`: the seconds and steps of training at which it starts to
  /// count.
  Validation(std::span<const View> test, const ValidationInterval& every, double begin, int64_t step)
      : test_(test),
        steps_(every.steps),
        wanted_(every.seconds),
        begin_(begin),
        next_(begin + every.seconds),
        first_(step) {}

  /// Returns whether to score after `step` steps and that many seconds. By steps it is due at multiples, but never so often that it takes
  /// more than its share of the time.
  bool due(double seconds, int64_t step) const {
    return seconds >= next_ && (steps_ == 0 || (step > first_ && step % steps_ == 0));
  }
  /// Scores the chosen views, which the first call chooses. `fixed`: seconds that the caller has spent on this
  /// validation. Returns what it took, without these.
  double score(const Render& render, bool black, double fixed, int64_t step, double seconds);
  /// Puts the next one off by an interval: this one failed for lack of memory.
  void put_off(double seconds) {
    next_ = seconds + (steps_ > 0 ? 0 : std::max(wanted_, choice_ ? choice_->every : 0));
  }

  const ValidationPoint& last() const { return points_.back(); }
  /// Returns the last point once, for the next line of metrics.
  std::optional<ValidationPoint> take_last();
  const std::vector<ValidationPoint>& points() const { return points_; }
  /// Says what was chosen, and why less often than asked for.
  std::string text() const;
  nlohmann::json to_json() const;

 private:
  void choose(const Render& render, double fixed);

  std::span<const View> test_;
  int64_t steps_;                             // between two; 0: by seconds
  double wanted_, begin_, next_, spent_ = 0;  // by steps, `wanted_` is measured until the first
  int64_t first_;                             // step at which it began to count
  std::optional<ValidationChoice> choice_;
  std::vector<View> views_;  // reduced
  std::vector<ValidationPoint> points_;
  bool taken_ = true;
};

}  // namespace klab
