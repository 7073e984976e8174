#include "labs/radiance/evaluate/frequency_renderer.h"

#include <algorithm>

namespace klab {

Picture FrequencyRenderer::render(const Camera& camera) {
  Picture out;
  out.width = camera.width;
  out.height = camera.height;
  const int64_t pixels = int64_t(camera.width) * camera.height, most = passes_.rays();
  out.rgb.resize(size_t(3 * pixels));
  out.opacity.resize(size_t(pixels));
  out.depth.resize(size_t(pixels));
  std::vector<float> origins(size_t(3 * most)), directions(size_t(3 * most)), color(size_t(3 * most)),
      background(size_t(3 * most), model_.placement.black ? 0.0F : 1.0F);
  for (int64_t first = 0; first < pixels; first += most) {
    const int64_t n = std::min(most, pixels - first);
    for (int64_t r = 0; r < n; ++r) {
      const int64_t pixel = first + r;
      const Ray ray = camera.ray(float(pixel % camera.width) + 0.5F, float(pixel / camera.width) + 0.5F);
      const float o[3] = {ray.origin.x, ray.origin.y, ray.origin.z};
      const float d[3] = {ray.direction.x, ray.direction.y, ray.direction.z};
      for (int64_t axis = 0; axis < 3; ++axis) {
        origins[size_t(axis * most + r)] = o[axis];
        directions[size_t(axis * most + r)] = d[axis];
      }
    }
    ops_.run("picture", plan_, profile_, [&](Ops& ops) {
      passes_.evaluate(ops, model_, {origins.data(), directions.data(), most, 0, n}, {});
      passes_.last_pass().composite(
          ops, n, {background.data(), color.data(), out.opacity.data() + first, out.depth.data() + first});
    });
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c < 3; ++c) out.rgb[size_t(3 * (first + r) + c)] = color[size_t(c * n + r)];
  }
  return out;
}

}  // namespace klab
