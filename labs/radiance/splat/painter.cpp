#include "labs/radiance/splat/painter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "harness/program/counted_bytes.h"
#include "harness/program/measure_ops.h"
#include "reference/gs_antialias_bwd/gs_antialias_bwd.h"
#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"
#include "reference/gs_bin/gs_bin.h"
#include "reference/gs_color_bwd/gs_color_bwd.h"
#include "reference/gs_color_fwd/gs_color_fwd.h"
#include "reference/gs_project_bwd/gs_project_bwd.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

constexpr int64_t kTight = 1;  // use boxes that end where a Gaussian can no longer be seen
constexpr int64_t kDepthBits = 32;

constexpr float kMedian = 0.5F;  // transmittance at the median depth

/// A Gaussian of a tile, at the distance of its center from the camera.
struct Listed {
  float x, y, xx, xy, yy, opacity, distance;
};

struct PixelDepth {
  float expected = 0, median = 0;
};

PixelDepth depth_at(const std::vector<Listed>& list, float x, float y) {
  PixelDepth out;
  float left = 1;
  for (const Listed& g : list) {
    const float dx = g.x - x, dy = g.y - y;
    const float e = -0.5F * (g.xx * dx * dx + g.yy * dy * dy) - g.xy * dx * dy;
    const float alpha = std::min(float(GsRasterizeFwd::most), g.opacity * std::exp(e));
    if (alpha < float(GsRasterizeFwd::least)) continue;
    const float behind = left * (1 - alpha);
    if (behind < float(GsRasterizeFwd::stop)) break;
    out.expected += left * alpha * g.distance;
    if (left >= kMedian && behind < kMedian) out.median = g.distance;
    left = behind;
  }
  return out;
}

}  // namespace

std::vector<PlannedCall> painting_calls(int64_t n, int degree, int width, int height, const Painting& how) {
  GaussianSet set = GaussianSet::zeros(n, degree);
  set.antialiased = how.antialiased;
  Camera camera;
  camera.width = width, camera.height = height;
  Painter painter(Plan{});
  painter.expect(n);
  Memory none;
  MeasureOps measured(none);
  painter.draw(measured, set, degree, camera, {0, 0, 0});
  return measured.deciding();
}

void Painter::project(Ops& ops, const GaussianSet& set) {
  const auto n = size_t(set.n);
  mean_.resize(2 * n), conic_.resize(3 * n), depth_.resize(n), opacity_.resize(n), extent_.resize(2 * n);
  color_.resize(3 * n);
  {
    const auto stage = ops.within("project");
    ops.call<GsProjectFwd>({set.n, width_, height_, kTight}, {.camera = camera_.data(),
                                                              .position = set.position.data(),
                                                              .log_scale = set.log_scale.data(),
                                                              .quaternion = set.quaternion.data(),
                                                              .opacity_raw = set.opacity_raw.data(),
                                                              .mean = mean_.data(),
                                                              .conic = conic_.data(),
                                                              .depth = depth_.data(),
                                                              .opacity = opacity_.data(),
                                                              .extent = extent_.data()});
    antialiased_ = set.antialiased;
    shown_.resize(antialiased_ ? n : 0);
    if (antialiased_)
      ops.call<GsAntialiasFwd>({set.n},
                               {.conic = conic_.data(), .opacity = opacity_.data(), .shown = shown_.data()});
  }
  {
    const auto stage = ops.within("color");
    ops.call<GsColorFwd>({set.n, degree_}, {.eye = eye_,
                                            .position = set.position.data(),
                                            .coefficients = set.coefficients.data(),
                                            .color = color_.data()});
  }
}

void Painter::sort_and_bin(Ops& ops, int64_t n) {
  const auto count = size_t(n);
  keys_.resize(count), sorted_keys_.resize(count), values_.resize(count), order_.resize(count);
  profile_.time("sort", [&] {
    // A nonnegative float orders as its bits do. Culled Gaussians have depth 0 and no extent.
    for (size_t i = 0; i < count; ++i) keys_[i] = std::bit_cast<uint32_t>(depth_[i]), values_[i] = int32_t(i);
  });
  {
    const auto stage = ops.within("sort");
    ops.call<RadixSort>({n, kDepthBits}, {.keys = keys_.data(),
                                          .values = values_.data(),
                                          .sorted_keys = sorted_keys_.data(),
                                          .sorted_values = order_.data()});
  }
  {
    const auto stage = ops.within("bin");
    const GsBin::Shape none{n, 0, width_, height_};
    tile_begin_.resize(size_t(none.tiles()) + 1);
    if (id_.empty()) id_.resize(size_t(4 * n + 1024));
    while (true) {
      int32_t needed = 0;
      ops.call<GsBin>({n, int64_t(id_.size()), width_, height_}, {.mean = mean_.data(),
                                                                  .extent = extent_.data(),
                                                                  .order = order_.data(),
                                                                  .tile_begin = tile_begin_.data(),
                                                                  .id = id_.data(),
                                                                  .needed = &needed});
      entries_ = needed;
      if (entries_ <= int64_t(id_.size())) break;
      id_.resize(size_t(entries_ + entries_ / 4));  // then once more, with room
    }
  }
}

void Painter::draw(Ops& ops, const GaussianSet& set, int degree, const Camera& camera,
                   const float (&background)[3]) {
  if (degree > set.degree) throw std::invalid_argument("colors of a degree that the Gaussians do not have");
  width_ = camera.width, height_ = camera.height, degree_ = degree;
  camera_ = projection_of(camera);
  const Vec3 eye = camera.position();
  eye_[0] = eye.x, eye_[1] = eye.y, eye_[2] = eye.z;
  const size_t pixels = size_t(width_) * size_t(height_);
  image_.resize(3 * pixels), transmittance_.resize(pixels);
  project(ops, set);
  sort_and_bin(ops, set.n);
  const auto stage = ops.within("rasterize");
  ops.call<GsRasterizeFwd>({set.n, int64_t(id_.size()), width_, height_},
                           {.mean = mean_.data(),
                            .conic = conic_.data(),
                            .opacity = drawn_opacity().data(),
                            .color = color_.data(),
                            .background = background,
                            .tile_begin = tile_begin_.data(),
                            .id = id_.data(),
                            .image = image_.data(),
                            .transmittance = transmittance_.data()});
}

// With antialiasing the rasterizer saw smaller opacities, and its gradients go through those.
void Painter::rasterize_backward(Ops& ops, const GaussianSet& set, const std::vector<float>& d_image,
                                 bool pull) {
  const auto stage = ops.within("rasterize_bwd");
  const GsRasterizeFwd::Shape shape{set.n, int64_t(id_.size()), width_, height_};
  const GsRasterizeBwd::Args<float> x{.shape = shape,
                                      .mean = mean_.data(),
                                      .conic = conic_.data(),
                                      .opacity = drawn_opacity().data(),
                                      .color = color_.data(),
                                      .tile_begin = tile_begin_.data(),
                                      .id = id_.data(),
                                      .image = image_.data(),
                                      .d_image = d_image.data(),
                                      .d_mean = d_mean_.data(),
                                      .d_conic = d_conic_.data(),
                                      .d_opacity = antialiased_ ? d_shown_.data() : d_opacity_.data(),
                                      .d_color = d_color_.data()};
  if (pull)
    ops.call<GsRasterizeAbsBwd>(
        shape, {shape, x.mean, x.conic, x.opacity, x.color, x.tile_begin, x.id, x.image, x.d_image, x.d_mean,
                x.d_conic, x.d_opacity, x.d_color, pull_.data()});
  else
    ops.call<GsRasterizeBwd>(shape, x);
  if (antialiased_)
    ops.call<GsAntialiasBwd>({set.n}, {.conic = conic_.data(),
                                       .opacity = opacity_.data(),
                                       .d_shown = d_shown_.data(),
                                       .d_opacity = d_opacity_.data(),
                                       .d_conic = d_conic_.data()});
}

void Painter::backward(Ops& ops, const GaussianSet& set, const std::vector<float>& d_image, GaussianSet& out,
                       bool pull) {
  const auto n = size_t(set.n);
  d_mean_.resize(2 * n), d_conic_.resize(3 * n), d_opacity_.resize(n), d_color_.resize(3 * n);
  d_position_.resize(3 * n), d_shown_.resize(antialiased_ ? n : 0), pull_.resize(pull ? 2 * n : 0);
  rasterize_backward(ops, set, d_image, pull);
  {
    const auto stage = ops.within("color_bwd");
    ops.call<GsColorBwd>({set.n, degree_}, {.eye = eye_,
                                            .position = set.position.data(),
                                            .coefficients = set.coefficients.data(),
                                            .d_color = d_color_.data(),
                                            .d_position = d_position_.data(),
                                            .d_coefficients = out.coefficients.data()});
    const size_t drawn = 3 * n * size_t(degree_ + 1) * size_t(degree_ + 1);
    profile_.time("color_bwd", [&] {
      std::fill(out.coefficients.begin() + std::ptrdiff_t(drawn), out.coefficients.end(), 0.0F);
    });
  }
  {
    const auto stage = ops.within("project_bwd");
    ops.call<GsProjectBwd>({set.n, width_, height_, kTight}, {.camera = camera_.data(),
                                                              .position = set.position.data(),
                                                              .log_scale = set.log_scale.data(),
                                                              .quaternion = set.quaternion.data(),
                                                              .opacity_raw = set.opacity_raw.data(),
                                                              .d_mean = d_mean_.data(),
                                                              .d_conic = d_conic_.data(),
                                                              .d_opacity = d_opacity_.data(),
                                                              .d_position = out.position.data(),
                                                              .d_log_scale = out.log_scale.data(),
                                                              .d_quaternion = out.quaternion.data(),
                                                              .d_opacity_raw = out.opacity_raw.data()});
    profile_.time("project_bwd", [&] {
      for (size_t i = 0; i < 3 * n; ++i)
        out.position[i] += d_position_[i];  // gradient through the view direction of the color
    });
  }
}

int64_t Painter::held_bytes() const {
  return reserved_bytes(mean_, conic_, depth_, opacity_, extent_, color_, image_, transmittance_, d_mean_,
                        d_conic_, d_opacity_, d_color_, d_position_, keys_, sorted_keys_, values_, order_,
                        tile_begin_, id_);
}

Picture Painter::picture() const {
  const size_t pixels = size_t(width_) * size_t(height_);
  Picture out{.width = width_,
              .height = height_,
              .rgb = std::vector<float>(3 * pixels),
              .opacity = {},
              .depth = {},
              .median_depth = {}};
  out.opacity.resize(pixels);
  out.depth.assign(pixels, 0.0F);
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t c = 0; c < 3; ++c) out.rgb[3 * i + c] = image_[c * pixels + i];
    out.opacity[i] = 1 - transmittance_[i];
  }
  return out;
}

// The same walk through a tile's list as the rasterizer's, with distances in place of colors.
void Painter::add_depth(const GaussianSet& set, Picture& picture) const {
  const GsRasterizeFwd::Shape shape{set.n, int64_t(id_.size()), width_, height_};
  constexpr int64_t kTile = GsRasterizeFwd::tile;
  const size_t n = size_t(set.n), pixels = size_t(width_) * size_t(height_);
  picture.depth.assign(pixels, 0.0F);
  picture.median_depth.assign(pixels, 0.0F);
#pragma omp parallel for schedule(dynamic)
  for (int64_t tile = 0; tile < shape.tiles(); ++tile) {
    std::vector<Listed> list;
    for (int32_t k = tile_begin_[size_t(tile)]; k < tile_begin_[size_t(tile) + 1]; ++k) {
      const auto g = size_t(id_[size_t(k)]);
      const Vec3 away{set.position[g] - eye_[0], set.position[n + g] - eye_[1],
                      set.position[2 * n + g] - eye_[2]};
      list.push_back({mean_[g], mean_[n + g], conic_[g], conic_[n + g], conic_[2 * n + g], drawn_opacity()[g],
                      length(away)});
    }
    const int64_t top = tile / shape.columns() * kTile, first = tile % shape.columns() * kTile;
    for (int64_t row = top; row < std::min<int64_t>(top + kTile, height_); ++row)
      for (int64_t column = first; column < std::min<int64_t>(first + kTile, width_); ++column) {
        const PixelDepth depth = depth_at(list, float(column) + 0.5F, float(row) + 0.5F);
        const auto at = size_t(row * width_ + column);
        picture.depth[at] = depth.expected;
        picture.median_depth[at] = depth.median;
      }
  }
}

}  // namespace klab
