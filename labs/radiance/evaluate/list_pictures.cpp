#include "labs/radiance/evaluate/list_pictures.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "reference/draw_rays/draw_rays.h"

namespace klab {

ListPictures::ListPictures(Memory& memory, const RayStep& step, RunOps::Body program,
                           const StepNumbers& numbers, int64_t most_rays)
    : memory_(memory),
      step_(step),
      program_(std::move(program)),
      numbers_(numbers),
      most_rays_(most_rays),
      ops_(memory) {}

void ListPictures::begin() {
  MeasureOps measured(memory_);
  program_(measured);
  memory_.allocate(measured.used());
  memory_.push();
}

void ListPictures::look_from(const Camera& c) {
  std::array<float, 20> camera = {c.fx, c.fy, c.cx, c.cy, c.k1, c.k2, c.p1, c.p2};
  std::copy(c.pose.begin(), c.pose.end(), camera.begin() + 8);
  memory_.write(step_.views.cameras, camera.data(), sizeof camera);
  const int64_t pixels = int64_t(c.width) * c.height;
  const std::array<int64_t, size_t(DrawRays::kPlace)> place = {c.width, c.height, 0, -1, pixels, -1};
  memory_.write(step_.views.places, place.data(), sizeof place);
}

// Draws pixels from `first` on; returns how many fitted.
int64_t ListPictures::draw(int64_t first, int64_t pixels, const Plan& plan, Profile& profile, Picture& out) {
  const int64_t rays = std::min(most_rays_, pixels - first);
  StepNumbers n = numbers_;
  n.step[0] = uint32_t(first);
  n.rays = int32_t(rays);
  memory_.write(step_.numbers, &n, sizeof n);
  memory_.set(step_.rays, rays);
  ops_.run("picture", plan, profile, program_);
  memory_.read(&n, step_.numbers, sizeof n);
  const int64_t whole = n.whole, stride = step_.rays;
  if (whole < 1) throw std::runtime_error("a ray has more samples than there is room for");
  std::vector<float> color(size_t(3 * stride)), opacity(static_cast<size_t>(whole)),
      depth(static_cast<size_t>(whole));
  memory_.read(color.data(), step_.color, color.size() * sizeof(float));
  memory_.read(opacity.data(), step_.opacity, opacity.size() * sizeof(float));
  memory_.read(depth.data(), step_.depth, depth.size() * sizeof(float));
  for (int64_t r = 0; r < whole; ++r) {
    for (int64_t c = 0; c < 3; ++c) out.rgb[size_t(3 * (first + r) + c)] = color[size_t(c * stride + r)];
    out.opacity[size_t(first + r)] = opacity[size_t(r)];
    out.depth[size_t(first + r)] = depth[size_t(r)];
  }
  return whole;
}

Picture ListPictures::render(const Camera& camera, const Plan& plan, Profile& profile) {
  Picture out;
  out.width = camera.width;
  out.height = camera.height;
  const int64_t pixels = int64_t(camera.width) * camera.height;
  out.rgb.resize(size_t(3 * pixels));
  out.opacity.resize(size_t(pixels));
  out.depth.resize(size_t(pixels));
  look_from(camera);
  for (int64_t first = 0; first < pixels;) first += draw(first, pixels, plan, profile, out);
  return out;
}

}  // namespace klab
