#include "labs/radiance/run/score_scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/run/stages.h"

namespace klab {
namespace {

constexpr double kTimed = 0.05;      // seconds that a picture must take to be timed
constexpr double kMargin = 0.8;      // share of the time that the expected evaluation may take
constexpr int64_t kFewestViews = 8;  // before views become smaller
constexpr int kSmallestSide = 64;    // pixels of a view's shorter side, at least

int64_t pixels_of(const std::vector<View>& test, const std::vector<int64_t>& views) {
  int64_t sum = 0;
  for (const int64_t i : views) sum += test[size_t(i)].pixels();
  return sum;
}

/// Lists every `stride`-th of `of` views so that each beginning of the list is spread over all of them: halves first,
/// then quarters, ...
std::vector<int64_t> spread(int64_t of, int64_t stride) {
  std::vector<int64_t> list;
  int64_t step = stride;
  while (2 * step < of) step *= 2;
  for (int64_t i = 0; i < of; i += step) list.push_back(i);
  for (; step > stride; step /= 2)
    for (int64_t i = step / 2; i < of; i += step) list.push_back(i);
  return list;
}

/// Keeps the pixels all of whose parts counted.
std::vector<int32_t> reduced_list(const std::vector<int32_t>& list, int width, const Camera& small,
                                  int factor) {
  std::vector<int32_t> parts(size_t(small.width) * size_t(small.height));
  for (const int32_t pixel : list) {
    const int x = pixel % width / factor, y = pixel / width / factor;
    if (x < small.width && y < small.height) ++parts[size_t(y) * size_t(small.width) + size_t(x)];
  }
  std::vector<int32_t> kept;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] == factor * factor) kept.push_back(int32_t(i));
  return kept;
}

void note_size(ScoreScope& scope, const std::vector<View>& test) {
  if (test.empty()) return;
  scope.width = test.front().camera.width, scope.height = test.front().camera.height;
}

}  // namespace

double score_seconds_from(const std::string& text) {
  if (text == "all") return kScoreAll;
  try {
    return number_from<double>(text, range::seconds);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(
        fmt::format("--score {}: give all, or how many seconds it may take, for example 60 ({})",
                    excerpt(text), e.what()));
  }
}

std::string score_text(double seconds) { return seconds == kScoreAll ? "all" : fmt::format("{:g}", seconds); }

void reduce_view(View& view, int factor) {
  if (factor <= 1) return;
  const Camera small = view.camera.downscaled(factor);
  if (view.with_ray)
    view.with_ray = std::make_shared<const std::vector<int32_t>>(
        reduced_list(*view.with_ray, view.camera.width, small, factor));
  view.camera = small;
  if (!view.image.rgba.empty()) view.image = downscale(view.image, factor);
  view.depth.clear();  // of the full size; scores do not use it
  if (!view.source) return;
  view.source = std::make_shared<const PictureSource>(
      PictureSource{.file = view.source->file,
                    .read = [full = view.source, factor] { return downscale(full->read(), factor); },
                    .bytes_to_read = view.source->bytes_to_read + 4 * view.pixels()});
}

ScoreScope begin_scope(std::vector<View>& test, double seconds) {
  ScoreScope scope{.seconds = seconds, .of = int64_t(test.size())};
  if (test.empty()) return scope;
  scope.full_width = test.front().camera.width, scope.full_height = test.front().camera.height;
  if (!scope.all())
    for (View& view : test) {
      const int side = std::max(view.camera.width, view.camera.height),
                factor = (side + kScoreSide - 1) / kScoreSide;
      if (&view == &test.front()) scope.reduced = factor;
      reduce_view(view, factor);
    }
  // A picture all of whose pixels fall away has nothing to score.
  std::erase_if(test, [](const View& v) { return v.with_ray && v.with_ray->empty(); });
  scope.views = spread(int64_t(test.size()), 1);
  note_size(scope, test);
  return scope;
}

double seconds_per_pixel(const std::function<Picture(const Camera&)>& render, const Camera& camera) {
  using Clock = std::chrono::steady_clock;
  int factor = 1;
  while (std::min(camera.width, camera.height) / (2 * factor) >= 4) factor *= 2;
  for (;; factor /= 2) {
    const Camera small = camera.downscaled(factor);
    const auto begin = Clock::now();
    render(small);
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    if (took >= kTimed || factor == 1) return took / (double(small.width) * small.height);
  }
}

void choose_views(ScoreScope& scope, std::vector<View>& test, double pixel) {
  if (scope.all() || test.empty()) {
    scope.expected = pixel * double(pixels_of(test, scope.views));
    return;
  }
  const auto count = int64_t(test.size()), fewest = std::min(count, kFewestViews);
  for (;; scope.reduced *= 2) {
    for (int64_t stride = 1; (count + stride - 1) / stride >= fewest; stride *= 2) {
      scope.views = spread(count, stride);
      scope.expected = pixel * double(pixels_of(test, scope.views));
      if (scope.expected <= kMargin * scope.seconds) break;
    }
    const bool small = std::ranges::any_of(
        test, [](const View& v) { return std::min(v.camera.width, v.camera.height) / 2 < kSmallestSide; });
    if (small || scope.expected <= kMargin * scope.seconds) break;
    for (View& view : test) reduce_view(view, 2);
  }
  note_size(scope, test);
}

std::string scope_text(const ScoreScope& scope, double pixel) {
  const auto about = [](double seconds) {
    return seconds > 0 ? ", about " + duration_text(std::max(1.0, seconds)) : std::string();
  };
  const auto count = int64_t(scope.views.size());
  const bool too_many = scope.expected > scope.seconds;  // even of the smallest views
  const std::string which = too_many            ? fmt::format("up to {} of {}", count, scope.of)
                            : count == scope.of ? fmt::format("all {}", count)
                                                : fmt::format("{} of {}", count, scope.of);
  const std::string most = scope.all()          ? ""
                           : scope.seconds < 10 ? fmt::format(", at most {:g} s", scope.seconds)
                                                : ", at most " + duration_text(scope.seconds);
  std::string text = fmt::format("scoring   {} test views at {}x{}{}{}, after the training\n", which,
                                 scope.width, scope.height, about(scope.expected), most);
  if (scope.all() || (scope.reduced == 1 && count == scope.of && !too_many)) return text;
  const double all = pixel * double(scope.full_width) * scope.full_height * double(scope.of);
  return text + fmt::format("          --score all takes all {} at {}x{}{}\n", scope.of, scope.full_width,
                            scope.full_height, about(all));
}

ScoreScope part_of(ScoreScope scope, int process, int processes) {
  std::vector<int64_t> mine;
  for (size_t i = size_t(process); i < scope.views.size(); i += size_t(processes))
    mine.push_back(scope.views[i]);
  scope.views = std::move(mine);
  return scope;
}

Scored scored_by(const ScoreScope& scope) {
  return {.of = scope.of,
          .reduced = scope.reduced,
          .full_width = scope.full_width,
          .full_height = scope.full_height};
}

}  // namespace klab
