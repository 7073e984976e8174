#include "labs/radiance/splat/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "harness/program/counted_bytes.h"
#include "harness/program/measure_ops.h"
#include "harness/program/random.h"
#include "harness/records/numbers.h"
#include "labs/radiance/splat/relocation.h"
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

/// A picture, the one that it should be, and their size.
struct Compared {
  int64_t width, height;
  const std::vector<float>&image, &target;  // [3,height,width]
};

/// Computes the loss of a picture. `ssim`: weight of structural similarity.
void picture_loss(Ops& ops, const Compared& x, double ssim, float& loss) {
  const auto weight = float(ssim);
  ops.call<SsimLossFwd>(
      {x.width, x.height},
      {.weight = &weight, .image = x.image.data(), .target = x.target.data(), .loss = &loss});
}

/// Computes the gradient of that loss.
void picture_loss_bwd(Ops& ops, const Compared& x, double ssim, std::vector<float>& d_image) {
  const float weight = float(ssim), one = 1;
  ops.call<SsimLossBwd>({x.width, x.height}, {.weight = &weight,
                                              .image = x.image.data(),
                                              .target = x.target.data(),
                                              .d_loss = &one,
                                              .d_image = d_image.data()});
}

}  // namespace

std::vector<PlannedCall> splat_training_calls(int64_t n, int degree, int width, int height,
                                              const Painting& how) {
  constexpr double kStepsALoss = 10;  // its value is printed now and then
  GaussianSet set = GaussianSet::zeros(n, degree), gradient = GaussianSet::zeros(n, degree);
  set.antialiased = how.antialiased;
  const SplatOptions options;
  SplatOptimizer optimizer(options, 1, set);
  Camera camera;
  camera.width = width, camera.height = height;
  Painter painter(Plan{});
  painter.expect(n);
  Memory none;
  MeasureOps measured(none);
  painter.draw(measured, set, degree, camera, {0, 0, 0});
  std::vector<float> d_image(painter.image().size());
  const Compared compared{width, height, painter.image(), d_image};
  picture_loss_bwd(measured, compared, options.ssim, d_image);
  painter.backward(measured, set, d_image, gradient, false);
  optimizer.update(measured, set, gradient, degree, 0, 1);
  measured.once_in(kStepsALoss);
  float loss = 0;
  picture_loss(measured, compared, options.ssim, loss);
  std::vector<PlannedCall> calls = measured.deciding();
  if (how.pull) {  // while Gaussians are added
    MeasureOps pulled(none);
    painter.backward(pulled, set, d_image, gradient, true);
    add_other_calls(pulled, calls);
  }
  return calls;
}

SplatTrainer::SplatTrainer(const Scene& scene, const SplatOptions& options, Plan plan, uint64_t seed,
                           std::optional<GaussianSet> start, const Backend& backend)
    : scene_(scene),
      options_(options),
      painter_(std::move(plan), backend),
      seed_(seed),
      black_(!scene.has_alpha()),
      extent_(extent_of(scene.train)),
      set_(start ? std::move(*start) : random_gaussians(options.initial, options.degree, seed, scene.side())),
      optimizer_(options, extent_, set_),
      exposures_(scene.train.size(), options.exposure_rate),
      random_(seed) {
  if (scene.train.empty()) throw std::invalid_argument("a scene without a view to train on");
  set_.antialiased = set_.antialiased || options_.antialiased;
  gradient_ = GaussianSet::zeros(set_.n, set_.degree);
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
    for (size_t c = 0; c < 3; ++c) target_[c * pixels + pixel] = shown()[c * pixels + pixel];
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
  const auto taken = size_t(&view - scene_.train.data());
  if (exposures_.learned()) exposures_.expose(taken, painter_.image(), exposed_);
  hide_what_does_not_count(view);
  d_image_.resize(target_.size());
  painter_.run("loss", [&](Ops& ops) {
    picture_loss_bwd(ops, {width_, height_, shown(), target_}, options_.ssim, d_image_);
  });
  for (const size_t pixel : hidden_)
    for (size_t c = 0; c < 3; ++c) d_image_[c * target_.size() / 3 + pixel] = 0;
  const std::array<double, 3> d_exposure =
      exposures_.learned() ? exposures_.backward(taken, exposed_, d_image_) : std::array<double, 3>{};
  // No change follows that would read the statistics.
  const bool absolute =
      options_.density.absolute && !options_.density.relocate && done < options_.density_until;
  painter_.backward(set_, d_image_, gradient_, absolute);
  if (options_.density.relocate) pull_of(set_, options_.density, extent_, &gradient_);
  require_finite_gradient();
  seen_.add(absolute ? painter_.pull() : painter_.d_mean(), painter_.extent(), width_, height_);
  painter_.run("update",
               [&](Ops& ops) { optimizer_.update(ops, set_, gradient_, degree_, done, rate_factor_); });
  if (exposures_.learned()) exposures_.update(taken, d_exposure, rate_factor_);
  if (options_.density.relocate)
    add_noise(set_, options_.density, optimizer_.position_rate(), extent_, seed_, steps_);
  ++steps_;
  if (steps_ % options_.density_every != 0) return;
  require_finite();
  if (steps_ >= options_.density_from && done < options_.density_until) change(done / options_.density_until);
  if (options_.density.budget == 0 && !options_.density.relocate && steps_ % options_.reset_every == 0 &&
      done < options_.reset_until) {
    optimizer_.reset_opacity(set_);
    was_reset_ = true;
  }
}

void SplatTrainer::change(double done) {
  DensityChange change =
      change_density(set_, seen_, options_.density, extent_, done, was_reset_, seed_ + uint64_t(steps_));
  while_changing_ = held_now() + change.set.held_bytes() + reserved_bytes(change.from, change.fresh);
  optimizer_.follow(change, set_.n);
  set_ = std::move(change.set);
  gradient_ = GaussianSet::zeros(set_.n, set_.degree);
  seen_.reset(set_.n);
  last_change_ = fmt::format("{} cloned, {} split, {} removed", change.cloned, change.split, change.removed);
}

int64_t SplatTrainer::held_now() const {
  return set_.held_bytes() + gradient_.held_bytes() + optimizer_.held_bytes() + painter_.held_bytes() +
         reserved_bytes(seen_.pull, seen_.seen, target_, d_image_, hidden_, views_);
}

SplatTrainer::Held SplatTrainer::held() {
  const int64_t now = held_now();
  return {now, std::max(now, std::exchange(while_changing_, 0))};
}

// The squares of floats do not overflow in double, so their sum is finite exactly where all values are.
void SplatTrainer::require_finite_gradient() {
  double squares = 0;
  for (size_t k = 0; k < kSplatTensors.size(); ++k) {
    const std::vector<float>& g = *gradient_.tensors()[k];
    const double own = squares_of(g);
    squares += own;
    if (std::isfinite(own)) continue;
    const auto at = std::ranges::find_if(g, [](float v) { return !std::isfinite(v); });
    throw NotFinite(fmt::format("step {}: the gradient of the Gaussians' {} is not finite (element {})",
                                steps_, kSplatTensors[k], at - g.begin()));
  }
  gradient_norm_ = std::sqrt(squares);
}

void SplatTrainer::require_finite() const {
  const auto all = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  };
  const std::vector<float>* tensors[] = {&set_.position, &set_.log_scale, &set_.quaternion, &set_.opacity_raw,
                                         &set_.coefficients};
  for (size_t k = 0; k < kSplatTensors.size(); ++k)
    if (!all(*tensors[k]))
      throw NotFinite(fmt::format("step {}: {} of a Gaussian is no longer finite; try a lower learning rate",
                                  steps_, kSplatTensors[k]));
}

double SplatTrainer::last_loss() {
  float loss = 0;
  painter_.run("value of the loss", [&](Ops& ops) {
    picture_loss(ops, {width_, height_, shown(), target_}, options_.ssim, loss);
  });
  return loss;
}

double SplatTrainer::last_psnr() const {
  double sum = 0;
  for (size_t i = 0; i < target_.size(); ++i) sum += std::pow(double(shown()[i]) - target_[i], 2);
  return -10 * std::log10(sum / double(target_.size() - 3 * hidden_.size()));
}

void SplatTrainer::save_state(std::vector<TensorView>& tensors, nlohmann::json& state) const {
  for (const TensorView& t : optimizer_.state()) tensors.push_back(t);
  if (exposures_.learned())
    for (const TensorView& t : exposures_.state()) tensors.push_back(t);
  tensors.push_back({"seen.pull", "F32", {int64_t(seen_.pull.size())}, seen_.pull.data()});
  tensors.push_back({"seen.views", "I32", {int64_t(seen_.seen.size())}, seen_.seen.data()});
  std::ostringstream random;
  random << random_;
  state["step"] = steps_;
  state["views"] = views_;
  state["random"] = random.str();
  state["was_reset"] = was_reset_;
}

void SplatTrainer::restore_state(const TensorFile& file, const nlohmann::json& state,
                                 const std::string& where) {
  const auto damaged = [&](const char* what) {
    throw std::runtime_error(where + ": \"" + what + "\" is damaged");
  };
  optimizer_.restore(file, where);
  if (exposures_.learned()) exposures_.restore(file, where);
  file.read("seen.pull", "F32", {int64_t(seen_.pull.size())}, seen_.pull.data());
  file.read("seen.views", "I32", {int64_t(seen_.seen.size())}, seen_.seen.data());
  steps_ = number_in<int64_t>(state, "step", {0, range::steps.high}, where);
  views_.clear();
  const auto views = state.find("views"), random = state.find("random"), reset = state.find("was_reset");
  if (views == state.end() || !views->is_array()) damaged("views");
  for (const nlohmann::json& v : *views)
    views_.push_back(number_of<int32_t>(v, "views", {0, double(scene_.train.size()) - 1}, where));
  if (random == state.end() || !random->is_string()) damaged("random");
  std::istringstream in(random->get<std::string>());
  if (!(in >> random_)) damaged("random");
  if (reset == state.end() || !reset->is_boolean()) damaged("was_reset");
  was_reset_ = reset->get<bool>();
}

}  // namespace klab
