#include "labs/radiance/splat/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "harness/program/random.h"
#include "reference/adam/adam.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {
namespace {

/// Returns 1.1 times the largest distance of a camera from the mean position.
double extent_of(const std::vector<View>& views) {
  Vec3 middle;
  for (const View& view : views) middle = middle + (1 / float(views.size())) * view.camera.position();
  double most = 0;
  for (const View& view : views) most = std::max(most, double(length(view.camera.position() - middle)));
  return std::max(1.1 * most, 1e-3);
}

}  // namespace

SplatTrainer::SplatTrainer(const Scene& scene, const SplatOptions& options, Plan plan, uint64_t seed,
                           std::optional<GaussianSet> start)
    : scene_(scene),
      options_(options),
      painter_(std::move(plan)),
      seed_(seed),
      black_(!scene.has_alpha()),
      extent_(extent_of(scene.train)),
      set_(start ? std::move(*start) : random_gaussians(options.initial, options.degree, seed, scene.side())),
      random_(seed) {
  if (scene.train.empty()) throw std::invalid_argument("a scene without a view to train on");
  gradient_ = GaussianSet::zeros(set_.n, set_.degree);
  for (size_t k = 0; k < moments_.size(); ++k) {
    const size_t count = set_.tensors()[k]->size();
    moments_[k] = {std::vector<float>(count), std::vector<float>(count), std::vector<int32_t>(count)};
  }
  seen_.reset(set_.n);
}

const View& SplatTrainer::next_view() {
  if (views_.empty()) {
    views_.resize(scene_.train.size());
    std::iota(views_.begin(), views_.end(), 0);
    std::shuffle(views_.begin(), views_.end(), random_);
  }
  const View& view = scene_.train[size_t(views_.back())];
  views_.pop_back();
  return view;
}

// A random color depends on the step alone, so that a resumed run draws what an uninterrupted one would have.
std::array<float, 3> SplatTrainer::draw_background() const {
  const std::string& kind = options_.background == "scene" ? scene_.background : options_.background;
  if (black_ || kind == "black") return {0, 0, 0};
  if (kind == "white") return {1, 1, 1};
  constexpr uint64_t kBackground = 105;
  const Draws draws(seed_, uint64_t(steps_), kBackground);
  return {draws.unit(0), draws.unit(1), draws.unit(2)};
}

void SplatTrainer::make_target(const View& view, const std::array<float, 3>& background) {
  const int64_t pixels = int64_t(view.image.width) * view.image.height;
  target_.resize(size_t(3 * pixels));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < pixels; ++i) {
    const uint8_t* p = view.image.rgba.data() + 4 * i;
    const float alpha = float(p[3]) / 255;
    for (size_t c = 0; c < 3; ++c)
      target_[c * size_t(pixels) + size_t(i)] = alpha * float(p[c]) / 255 + (1 - alpha) * background[c];
  }
}

// Copies the rendered value into masked pixels, so that no window of the loss sees a difference there.
void SplatTrainer::hide_what_does_not_count(const View& view) {
  hidden_.clear();
  if (!view.with_ray) return;
  const size_t pixels = target_.size() / 3;
  auto counted = view.with_ray->begin();
  for (size_t i = 0; i < pixels; ++i) {
    if (counted != view.with_ray->end() && size_t(*counted) == i)
      ++counted;
    else
      hidden_.push_back(i);
  }
  for (const size_t pixel : hidden_)
    for (size_t c = 0; c < 3; ++c) target_[c * pixels + pixel] = painter_.image()[c * pixels + pixel];
}

void SplatTrainer::step(double done) {
  const View& view = next_view();
  width_ = view.image.width, height_ = view.image.height;
  const std::array<float, 3> behind = draw_background();
  make_target(view, behind);
  // Add view-dependent color only after the shape has formed.
  degree_ = std::min(set_.degree, done < 0.15 ? 0 : done < 0.35 ? 1 : done < 0.55 ? 2 : 3);
  const float background[3] = {behind[0], behind[1], behind[2]};
  painter_.draw(set_, degree_, view.camera, background);
  hide_what_does_not_count(view);
  d_image_.resize(target_.size());
  const float weight = float(options_.ssim), one = 1;
  painter_.run("loss", [&](Ops& ops) {
    ops.call<SsimLossBwd>({width_, height_}, {.weight = &weight,
                                              .image = painter_.image().data(),
                                              .target = target_.data(),
                                              .d_loss = &one,
                                              .d_image = d_image_.data()});
  });
  for (const size_t pixel : hidden_)
    for (size_t c = 0; c < 3; ++c) d_image_[c * target_.size() / 3 + pixel] = 0;
  painter_.backward(set_, d_image_, gradient_);
  require_finite_gradient();
  seen_.add(painter_.d_mean(), painter_.extent(), width_, height_);
  adam(done);
  ++steps_;
  if (steps_ % options_.density_every != 0) return;
  require_finite();
  if (steps_ >= options_.density_from && done < options_.density_until) change(done / options_.density_until);
  if (options_.density.budget == 0 && steps_ % options_.reset_every == 0 && done < options_.reset_until)
    reset_opacity();
}

void SplatTrainer::adam_on(Ops& ops, std::vector<float>& values, const std::vector<float>& gradient,
                           Moments& moments, size_t begin, size_t count, double rate) {
  float hyper[Adam::kHypers];
  hyper[Adam::rate] = float(rate);
  hyper[Adam::beta1] = 0.9F;
  hyper[Adam::beta2] = 0.999F;
  hyper[Adam::epsilon] = 1e-15F;
  hyper[Adam::l2] = 0;
  ops.call<Adam>({.n = int64_t(count), .group = 1, .zero_percent = 0},
                 {.hyper = hyper,
                  .gradient = gradient.data() + begin,
                  .param = values.data() + begin,
                  .m = moments.m.data() + begin,
                  .v = moments.v.data() + begin,
                  .steps = moments.steps.data() + begin});
}

void SplatTrainer::adam(double done) {
  const double falls = std::pow(options_.last_position_rate / options_.position_rate, std::min(done, 1.0));
  position_rate_ = rate_factor_ * options_.position_rate * falls * extent_;
  const double rates[] = {position_rate_, rate_factor_ * options_.scale_rate,
                          rate_factor_ * options_.rotation_rate, rate_factor_ * options_.opacity_rate};
  const double color_rate = rate_factor_ * options_.color_rate;
  painter_.run("update", [&](Ops& ops) {
    for (size_t k = 0; k < 4; ++k) {
      std::vector<float>& values = *set_.tensors()[k];
      adam_on(ops, values, *gradient_.tensors()[k], moments_[k], 0, values.size(), rates[k]);
    }
    // View-dependent coefficients learn more slowly than the constant ones.
    const auto flat = size_t(3 * set_.n), drawn = flat * size_t(degree_ + 1) * size_t(degree_ + 1);
    adam_on(ops, set_.coefficients, gradient_.coefficients, moments_[4], 0, flat, color_rate);
    if (drawn > flat)
      adam_on(ops, set_.coefficients, gradient_.coefficients, moments_[4], flat, drawn - flat,
              color_rate / 20);
  });
}

void SplatTrainer::change(double done) {
  DensityChange change =
      change_density(set_, seen_, options_.density, extent_, done, was_reset_, seed_ + uint64_t(steps_));
  const auto numbers = set_.numbers();
  for (size_t k = 0; k < moments_.size(); ++k) {
    Moments next;
    const auto n = int64_t(change.from.size());
    next.m.resize(size_t(numbers[k] * n)), next.v.resize(next.m.size()), next.steps.resize(next.m.size());
    for (int64_t row = 0; row < numbers[k]; ++row)
      for (int64_t i = 0; i < n; ++i) {
        if (change.fresh[size_t(i)] != 0) continue;
        const auto to = size_t(row * n + i), from = size_t(row * set_.n + change.from[size_t(i)]);
        next.m[to] = moments_[k].m[from], next.v[to] = moments_[k].v[from],
        next.steps[to] = moments_[k].steps[from];
      }
    moments_[k] = std::move(next);
  }
  set_ = std::move(change.set);
  gradient_ = GaussianSet::zeros(set_.n, set_.degree);
  seen_.reset(set_.n);
  last_change_ = fmt::format("{} cloned, {} split, {} removed", change.cloned, change.split, change.removed);
}

void SplatTrainer::reset_opacity() {
  const float most = std::log(0.01F / 0.99F);
  for (float& raw : set_.opacity_raw) raw = std::min(raw, most);
  Moments& moments = moments_[3];
  std::fill(moments.m.begin(), moments.m.end(), 0.0F);
  std::fill(moments.v.begin(), moments.v.end(), 0.0F);
  std::fill(moments.steps.begin(), moments.steps.end(), 0);
  was_reset_ = true;
}

namespace {

constexpr const char* kSetTensors[] = {"position", "log_scale", "quaternion", "opacity_raw", "coefficients"};

}  // namespace

// The squares of floats do not overflow in double, so their sum is finite exactly where all values are.
void SplatTrainer::require_finite_gradient() {
  double squares = 0;
  for (size_t k = 0; k < moments_.size(); ++k) {
    const std::vector<float>& g = *gradient_.tensors()[k];
    const double own = squares_of(g);
    squares += own;
    if (std::isfinite(own)) continue;
    const auto at = std::ranges::find_if(g, [](float v) { return !std::isfinite(v); });
    throw NotFinite(fmt::format("step {}: the gradient of the Gaussians' {} is not finite (element {})",
                                steps_, kSetTensors[k], at - g.begin()));
  }
  gradient_norm_ = std::sqrt(squares);
}

void SplatTrainer::require_finite() const {
  const auto all = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  };
  const std::pair<const char*, const std::vector<float>*> tensors[] = {{"position", &set_.position},
                                                                       {"log_scale", &set_.log_scale},
                                                                       {"quaternion", &set_.quaternion},
                                                                       {"opacity_raw", &set_.opacity_raw},
                                                                       {"coefficients", &set_.coefficients}};
  for (const auto& [name, values] : tensors)
    if (!all(*values))
      throw NotFinite(fmt::format("step {}: {} of a Gaussian is no longer finite; try a lower learning rate",
                                  steps_, name));
}

double SplatTrainer::last_loss() {
  const float weight = float(options_.ssim);
  float loss = 0;
  painter_.run("value of the loss", [&](Ops& ops) {
    ops.call<SsimLossFwd>(
        {width_, height_},
        {.weight = &weight, .image = painter_.image().data(), .target = target_.data(), .loss = &loss});
  });
  return loss;
}

double SplatTrainer::last_psnr() const {
  double sum = 0;
  for (size_t i = 0; i < target_.size(); ++i) sum += std::pow(double(painter_.image()[i]) - target_[i], 2);
  return -10 * std::log10(sum / double(target_.size() - 3 * hidden_.size()));
}

}  // namespace klab
