#include "labs/radiance/evaluate/list_pictures.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "reference/draw_rays/draw_rays.h"

namespace klab {

ListPictures::ListPictures(const Arena& arena, const OpList& list, const PictureTensors& tensors,
                           const StepNumbers& numbers, int64_t most_rays, Backend backend)
    : list_(list),
      t_(tensors),
      numbers_(numbers),
      most_rays_(most_rays),
      runner_(arena, std::move(backend)) {}

void ListPictures::begin() {
  const std::array<const OpList*, 1> used = {&list_};
  runner_.allocate(used);
  runner_.push();
}

void ListPictures::look_from(const Camera& c) {
  std::array<float, 20> camera = {c.fx, c.fy, c.cx, c.cy, c.k1, c.k2, c.p1, c.p2};
  std::copy(c.pose.begin(), c.pose.end(), camera.begin() + 8);
  runner_.write(t_.cameras, camera.data(), sizeof camera);
  const int64_t pixels = int64_t(c.width) * c.height;
  const std::array<int64_t, size_t(DrawRays::kPlace)> place = {c.width, c.height, 0, -1, pixels, -1};
  runner_.write(t_.places, place.data(), sizeof place);
}

// Draws pixels from `first` on; returns how many fitted.
int64_t ListPictures::draw(int64_t first, int64_t pixels, const Plan& plan, Profile& profile, Picture& out) {
  const PictureTensors& t = t_;
  const int64_t rays = std::min(most_rays_, pixels - first);
  StepNumbers n = numbers_;
  n.step[0] = uint32_t(first);
  n.rays = int32_t(rays);
  runner_.write(t.numbers, &n, sizeof n);
  runner_.set(t.rays, rays);
  runner_.run(list_, plan, profile);
  runner_.read(&n, t.numbers, sizeof n);
  const int64_t whole = n.whole, stride = runner_.size(t.rays);
  if (whole < 1) throw std::runtime_error("a ray has more samples than there is room for");
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
