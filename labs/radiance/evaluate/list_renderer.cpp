#include "labs/radiance/evaluate/list_renderer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "labs/radiance/train/trainer.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

// As many rays as visible samples come in a stretch at most; what does not fit comes in the next one.
Config config_of(const Model& model, const BackendChoice& where) {
  Config c = model.config;
  c.batch_samples = c.first_rays = std::max(where.picture_samples, c.max_samples_per_ray);
  c.background = model.placement.black ? "black" : "white";
  return c;
}

// Copied into the backend's memory, or used where they are.
void tie(Runner& runner, const StepTensors& t, const Model& model) {
  for (const Part part : kParts)
    runner.mirror(t.parameters[size_t(part)], const_cast<float*>(model.of(part).data()));
  runner.mirror(t.bits, const_cast<uint8_t*>(model.occupancy.data()));
}

}  // namespace

ListRenderer::ListRenderer(const Model& model, const Plan& plan, const BackendChoice& where)
    : model_(model),
      plan_(plan),
      config_(config_of(model, where)),
      lists_(config_, model.placement.cascades, {.views = 1}, where.sizes),
      picture_(lists_.picture()),
      runner_(lists_.arena, where.backend) {
  tie(runner_, lists_.t, model);
  const std::array<const OpList*, 1> used = {&picture_};
  runner_.allocate(used);
  runner_.push();
}

std::vector<PlannedCall> ListRenderer::calls(const Model& model, const BackendChoice& where) {
  return picture_calls(config_of(model, where), model.placement.cascades);
}

int64_t ListRenderer::bytes_of(const Model& model, const BackendChoice& where) {
  const TrainStep lists(config_of(model, where), model.placement.cascades, {.views = 1}, where.sizes);
  const OpList picture = lists.picture();
  const std::array<const OpList*, 1> used = {&picture};
  return Runner::bytes_of(lists.arena, used);
}

void ListRenderer::look_from(const Camera& c) {
  std::array<float, 20> camera = {c.fx, c.fy, c.cx, c.cy, c.k1, c.k2, c.p1, c.p2};
  std::copy(c.pose.begin(), c.pose.end(), camera.begin() + 8);
  runner_.write(lists_.t.cameras, camera.data(), sizeof camera);
  const int64_t pixels = int64_t(c.width) * c.height;
  const std::array<int64_t, size_t(DrawRays::kPlace)> place = {c.width, c.height, 0, -1, pixels, -1};
  runner_.write(lists_.t.places, place.data(), sizeof place);
}

// Draws pixels from `first` on; how many there was room for.
int64_t ListRenderer::draw(int64_t first, int64_t pixels, Picture& out) {
  const StepTensors& t = lists_.t;
  const int64_t rays = std::min(TrainStep::ray_capacity(config_) - 1, pixels - first);
  StepNumbers n = marching_numbers(config_, model_.placement);
  n.step[0] = uint32_t(first);
  n.rays = int32_t(rays);
  runner_.write(t.numbers, &n, sizeof n);
  runner_.set(t.rays, rays);
  runner_.run(picture_, plan_, profile_);
  runner_.read(&n, t.numbers, sizeof n);
  const int64_t whole = n.whole, stride = runner_.size(t.rays);
  if (whole < 1)
    throw std::runtime_error("a ray has more samples than there is room for: lower \"max_samples_per_ray\"");
  std::vector<float> color(size_t(3 * stride)), opacity(static_cast<size_t>(whole)),
      depth(static_cast<size_t>(whole));
  runner_.read(color.data(), t.color, color.size() * sizeof(float));
  runner_.read(opacity.data(), t.opacity, opacity.size() * sizeof(float));
  runner_.read(depth.data(), t.depth, depth.size() * sizeof(float));
  for (int64_t r = 0; r < whole; ++r) {
    for (int64_t c = 0; c < 3; ++c) out.rgb[size_t(3 * (first + r) + c)] = color[size_t(c * stride + r)];
    out.opacity[size_t(first + r)] = opacity[size_t(r)];
    out.depth[size_t(first + r)] = depth[size_t(r)];
  }
  return whole;
}

Picture ListRenderer::render(const Camera& camera) {
  Picture out;
  out.width = camera.width;
  out.height = camera.height;
  const int64_t pixels = int64_t(camera.width) * camera.height;
  out.rgb.resize(size_t(3 * pixels));
  out.opacity.resize(size_t(pixels));
  out.depth.resize(size_t(pixels));
  look_from(camera);
  for (int64_t first = 0; first < pixels;) first += draw(first, pixels, out);
  return out;
}

}  // namespace klab
