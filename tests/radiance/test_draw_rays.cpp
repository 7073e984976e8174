// The rays of draw_rays are those of the scene's cameras, lenses that fold included, and no pixel without a ray is drawn.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "harness/core/registry.h"
#include "labs/radiance/scene/camera.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

// A phone's lens whose polynomial folds within the picture's corners.
Camera folding_draw_rays() {
  Camera c = look_at({3, 1, 2}, {0, 0, 0}, 101, 76, 0.8F);
  c.fx = c.fy = 37.5F;
  c.cx = 50.5F;
  c.cy = 38;
  c.k1 = 0.0578F;
  c.k2 = -0.0805F;
  return c;
}

struct Rays {
  std::vector<float> origins, directions, jitter, backdrop, color, depth;
};

Rays rays_of(const Variant& v, const Camera& c, const std::vector<int32_t>& seen, int64_t rays,
             int64_t drawn) {
  Rays out;
  for (auto* three : {&out.origins, &out.directions, &out.backdrop, &out.color})
    three->resize(size_t(3 * rays));
  for (auto* one : {&out.jitter, &out.depth}) one->resize(size_t(rays));
  std::vector<float> camera = {c.fx, c.fy, c.cx, c.cy, c.k1, c.k2, c.p1, c.p2};
  camera.insert(camera.end(), c.pose.begin(), c.pose.end());
  const int64_t pixels = int64_t(c.width) * c.height;
  const std::vector<int64_t> places = {
      c.width, c.height, 0, -1, seen.empty() ? pixels : int64_t(seen.size()), seen.empty() ? -1 : 0};
  const std::vector<uint32_t> seed = {7, 0}, step = {0, 0};
  const auto count = int32_t(rays);
  const std::vector<int64_t> shape = {rays, 1, 0, 0, int64_t(seen.size()), 1, drawn};
  const auto in = [](const auto* p) { return const_cast<void*>(static_cast<const void*>(p)); };
  const std::vector<void*> tensors = {
      in(seed.data()),    in(step.data()),       in(&count),        in(camera.data()),
      in(places.data()),  in(seen.data()),       nullptr,           nullptr,
      out.origins.data(), out.directions.data(), out.jitter.data(), out.backdrop.data(),
      out.color.data(),   out.depth.data()};
  v.bind(shape, tensors)();
  return out;
}

TEST(DrawRays, MatchTheCamerasRays) {
  const Camera c = folding_draw_rays();
  const int64_t pixels = int64_t(c.width) * c.height;
  for (const Variant* v : variants_of("draw_rays", "cpu")) {
    const Rays rays = rays_of(*v, c, {}, pixels, 0);
    int64_t seen = 0;
    for (int64_t i = 0; i < pixels; ++i) {
      const float u = float(i % c.width) + 0.5F, w = float(i / c.width) + 0.5F;
      const auto at = [&](const std::vector<float>& x, int64_t axis) { return x[size_t(axis * pixels + i)]; };
      if (!c.sees(u, w)) {
        ASSERT_GT(at(rays.origins, 0), 100) << v->id << ", pixel " << i << " has no ray";
        continue;
      }
      ++seen;
      const Ray ray = c.ray(u, w);
      const float d[3] = {ray.direction.x, ray.direction.y, ray.direction.z};
      for (int64_t axis = 0; axis < 3; ++axis)
        ASSERT_NEAR(at(rays.directions, axis), d[axis], 1e-6) << v->id << ", pixel " << i;
      ASSERT_EQ(at(rays.origins, 0), ray.origin.x) << v->id;
    }
    EXPECT_GT(seen, pixels / 2);
    EXPECT_LT(seen, pixels);
  }
}

TEST(DrawRays, PixelsWithoutARayAreNotDrawn) {
  const Camera c = folding_draw_rays();
  const auto list = pixels_with_ray(c);
  ASSERT_NE(list, nullptr);
  const Variant* v = variants_of("draw_rays", "cpu").back();
  constexpr int64_t rays = 5000;
  const Rays all = rays_of(*v, c, {}, rays, 1), some = rays_of(*v, c, *list, rays, 1);
  int64_t without = 0;
  for (int64_t r = 0; r < rays; ++r) {
    without += all.origins[size_t(r)] > 100;
    ASSERT_LT(some.origins[size_t(r)], 100) << r;
  }
  EXPECT_GT(without, 0) << "a check that cannot fail";
}

// Where in the picture a camera without a lens sees a direction.
std::array<double, 2> seen_at(const Camera& c, const Rays& rays, int64_t r, int64_t count) {
  double along[3] = {};  // right, up, back
  for (int64_t axis = 0; axis < 3; ++axis)
    for (int64_t k = 0; k < 3; ++k)
      along[k] += double(rays.directions[size_t(axis * count + r)]) * double(c.pose[size_t(4 * axis + k)]);
  return {double(c.fx) * along[0] / -along[2] + double(c.cx),
          double(c.fy) * along[1] / along[2] + double(c.cy)};
}

TEST(DrawRays, PassTheirPixelAnywhere) {
  const Camera c = look_at({3, 1, 2}, {0, 0, 0}, 101, 76, 0.8F);
  constexpr int64_t count = 20000;
  for (const Variant* v : variants_of("draw_rays", "cpu")) {
    const Rays middle = rays_of(*v, c, {}, count, 1), anywhere = rays_of(*v, c, {}, count, 2);
    double sum[2] = {}, squares[2] = {};
    for (int64_t r = 0; r < count; ++r) {
      const auto one = seen_at(c, middle, r, count), other = seen_at(c, anywhere, r, count);
      for (size_t k = 0; k < 2; ++k) {
        const double apart = other[k] - one[k];
        ASSERT_NEAR(one[k] - std::floor(one[k]), 0.5, 1e-3);
        ASSERT_LT(std::abs(apart), 0.5) << v->id << ", ray " << r << " is of another pixel";
        sum[k] += apart;
        squares[k] += apart * apart;
      }
    }
    for (size_t k = 0; k < 2; ++k) {
      EXPECT_NEAR(sum[k] / count, 0, 0.01) << v->id;
      EXPECT_NEAR(squares[k] / count, 1.0 / 12, 0.003) << v->id;
    }
  }
}

TEST(DrawRays, PassThroughTheMiddleIfTheLensShowsNothingElse) {
  const Camera c = folding_draw_rays();
  const auto list = pixels_with_ray(c);
  ASSERT_NE(list, nullptr);
  constexpr int64_t count = 40000;
  for (const Variant* v : variants_of("draw_rays", "cpu")) {
    const Rays middle = rays_of(*v, c, *list, count, 1), anywhere = rays_of(*v, c, *list, count, 2);
    int64_t same = 0;
    for (int64_t r = 0; r < count; ++r) {
      ASSERT_LT(anywhere.origins[size_t(r)], 100) << v->id << ", ray " << r;
      same += anywhere.directions[size_t(r)] == middle.directions[size_t(r)];
    }
    EXPECT_GT(same, 0) << v->id;
    EXPECT_LT(same, count / 50) << v->id;
  }
}

}  // namespace
}  // namespace klab
