#include "labs/radiance/run/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr int kProbeSide = 64;  // pixels of the longer side of the picture that is timed
// By steps, views are chosen for this part of an interval: where a picture takes a little longer than the first
// ones did, the next multiple is not missed.
constexpr double kOfSteps = 0.8;

int64_t pixels_at(int width, int height, int factor) {
  return int64_t(width / factor) * int64_t(height / factor);
}

}  // namespace

ValidationChoice choose_validation(int64_t test_views, int width, int height, double seconds_a_pixel,
                                   double fixed, double every) {
  const int most = int(std::min<int64_t>(test_views, kMostValidated)), least = std::min(most, 2);
  const int smallest = std::max(1, std::min(width, height) / kValidationSide);  // the largest factor
  const auto takes = [&](int views, int factor) {
    return fixed + seconds_a_pixel * double(views) * double(pixels_at(width, height, factor));
  };
  ValidationChoice choice{.views = least, .factor = smallest, .every = every};
  const double budget = kValidationShare * every;
  if (takes(least, smallest) > budget) {
    choice.every = takes(least, smallest) / kValidationShare;
    return choice;
  }
  while (choice.views < most && takes(choice.views + 1, smallest) <= budget) ++choice.views;
  while (choice.factor > 1 && takes(choice.views, choice.factor - 1) <= budget) --choice.factor;
  return choice;
}

ValidationInterval validation_interval_from(const std::string& text) {
  constexpr std::string_view kSteps = "steps";
  try {
    if (!text.ends_with(kSteps)) return {.seconds = number_from<double>(text, range::seconds)};
    std::string number = text.substr(0, text.size() - kSteps.size());
    while (number.ends_with(' ')) number.pop_back();
    return {.steps = number_from<int64_t>(number, range::steps)};
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(fmt::format(
        "--eval-every {}: {}; write seconds, as in 10, or steps, as in 500steps", excerpt(text), e.what()));
  }
}

View reduced_view(const View& view, int factor) {
  View out;
  out.name = view.name;
  out.camera = view.camera.downscaled(factor);
  out.image = downscale(view.image.rgba.empty() ? view.picture() : view.image, factor);
  if (!view.with_ray) return out;
  const int width = view.camera.width;
  std::vector<int32_t> seen(size_t(out.pixels()), 0);
  for (const int32_t pixel : *view.with_ray) {
    const int x = pixel % width / factor, y = pixel / width / factor;
    if (x < out.camera.width && y < out.camera.height) ++seen[size_t(y * out.camera.width + x)];
  }
  auto list = std::make_shared<std::vector<int32_t>>();
  for (size_t i = 0; i < seen.size(); ++i)
    if (seen[i] == factor * factor) list->push_back(int32_t(i));
  out.with_ray = std::move(list);
  return out;
}

int64_t Plateau::add(double psnr) {
  const bool gain = !best_ || psnr >= *best_ + kGain;
  if (gain) best_ = psnr;
  return without_ = gain ? 0 : without_ + 1;
}

void Validation::choose(const Render& render, double fixed) {
  const Camera& camera = test_.front().camera;
  const int reduce = std::max(1, std::max(camera.width, camera.height) / kProbeSide);
  const Camera probe = camera.downscaled(reduce);
  render(probe);  // the first picture also allocates
  const auto begin = Clock::now();
  render(probe);
  const double a_pixel = seconds_since(begin) / double(int64_t(probe.width) * probe.height);
  choice_ = choose_validation(int64_t(test_.size()), camera.width, camera.height, a_pixel, fixed, wanted_);
  for (int i = 0; i < choice_->views; ++i)
    views_.push_back(reduced_view(test_[size_t(i) * test_.size() / size_t(choice_->views)], choice_->factor));
}

double Validation::score(const Render& render, bool black, double fixed, int64_t step, double seconds) {
  const auto begin = Clock::now();
  if (!choice_ && steps_ > 0)
    wanted_ = kOfSteps * double(steps_) * (seconds - begin_) / double(std::max<int64_t>(1, step - first_));
  if (!choice_) choose(render, fixed);
  const Score score = evaluate(render, black, views_);
  points_.push_back({step, seconds, score.psnr, score.ssim});
  taken_ = false;
  const double took = seconds_since(begin);
  spent_ += fixed + took;
  // The field may take longer than when the views were chosen: the share holds anyway.
  const double shortest = (fixed + took) / kValidationShare;
  next_ = seconds + (steps_ > 0 ? shortest : std::max(choice_->every, shortest));
  return took;
}

std::optional<ValidationPoint> Validation::take_last() {
  if (taken_) return std::nullopt;
  taken_ = true;
  return points_.back();
}

std::string Validation::text() const {
  const Camera& camera = views_.front().camera;
  std::string text = fmt::format("validation on {} of {} test views, {}x{}", views_.size(), test_.size(),
                                 camera.width, camera.height);
  if (steps_ > 0) {
    const auto times = int64_t(std::ceil(kOfSteps * choice_->every / std::max(wanted_, 1e-9)));
    return text +
           (choice_->every > wanted_
                ? fmt::format(", about every {} steps instead of {}: more often would take over {:.0f} % "
                              "of the time",
                              times * steps_, steps_, 100 * kValidationShare)
                : fmt::format(", every {} steps", steps_));
  }
  if (choice_->every > wanted_)
    return text + fmt::format(
                      ", every {:.0f} s instead of {:.0f} s: more often would take over {:.0f} % of the time",
                      choice_->every, wanted_, 100 * kValidationShare);
  return text + fmt::format(", every {:.6g} s", choice_->every);
}

nlohmann::json Validation::to_json() const {
  nlohmann::json points = nlohmann::json::array();
  double best = -std::numeric_limits<double>::infinity();
  for (const ValidationPoint& p : points_) {
    points.push_back({{"step", p.step}, {"seconds", p.seconds}, {"psnr", p.psnr}, {"ssim", p.ssim}});
    best = std::max(best, p.psnr);
  }
  nlohmann::json out = {{"points", points}, {"seconds", spent_}};
  if (points_.empty()) return out;
  out["views"] = views_.size();
  out["width"] = views_.front().camera.width;
  out["height"] = views_.front().camera.height;
  if (steps_ > 0)
    out["every_steps"] = steps_;
  else
    out["every"] = choice_->every;
  out["best_psnr"] = best;
  return out;
}

}  // namespace klab
