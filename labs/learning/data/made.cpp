// Generated data sets: points on spirals, and glyphs of strokes.
#include <algorithm>
#include <array>
#include <cmath>

#include "harness/program/random.h"
#include "labs/learning/data/dataset.h"

namespace klab::learning {
namespace {

/// Returns an approximately normal number: the sum of twelve uniform ones.
float normal(const Draws& draws, uint64_t at) {
  float sum = -6;
  for (uint64_t i = 0; i < 12; ++i) sum += draws.unit(at * 12 + i);
  return sum;
}

struct Point {
  float x, y;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

Stroke arc(float x, float y, float rx, float ry, float from, float to) {
  Stroke s;
  for (int i = 0; i <= 10; ++i) {
    const float angle = (from + (to - from) * float(i) / 10) * 2 * float(M_PI);
    s.push_back({x + rx * std::cos(angle), y + ry * std::sin(angle)});
  }
  return s;
}

/// Returns the glyphs in the square from -1 to 1, with y pointing down.
const std::array<Glyph, 10>& glyphs() {
  static const std::array<Glyph, 10> all = {
      Glyph{arc(0, 0, 0.6F, 0.8F, 0, 1)},                                                   // ring
      Glyph{{{0, -0.9F}, {0, 0.9F}}, {{-0.6F, 0}, {0.6F, 0}}},                              // cross
      Glyph{{{-0.7F, 0.8F}, {0, -0.8F}, {0.7F, 0.8F}, {-0.7F, 0.8F}}},                      // triangle
      Glyph{{{-0.6F, -0.7F}, {0.6F, -0.7F}, {0.6F, 0.7F}, {-0.6F, 0.7F}, {-0.6F, -0.7F}}},  // square
      Glyph{{{-0.6F, -0.8F}, {0.6F, 0.8F}}, {{0.6F, -0.8F}, {-0.6F, 0.8F}}},                // x
      Glyph{arc(0, -0.4F, 0.5F, 0.4F, 0.25F, 1), arc(0, 0.4F, 0.5F, 0.4F, -0.25F, 0.5F)},   // s
      Glyph{{{-0.6F, -0.8F}, {0.6F, -0.8F}}, {{0, -0.8F}, {0, 0.8F}}},                      // t
      Glyph{{{-0.6F, -0.7F}, {-0.6F, 0.8F}, {0.6F, 0.8F}}},                                 // l
      Glyph{{{-0.7F, -0.8F}, {-0.35F, 0.8F}, {0, -0.1F}, {0.35F, 0.8F}, {0.7F, -0.8F}}},    // w
      Glyph{arc(0, 0, 0.6F, 0.8F, 0.1F, 0.9F), {{0, 0}, {0.6F, 0}}},  // open ring with a bar
  };
  return all;
}

float distance(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float t =
      std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / std::max(1e-6F, dx * dx + dy * dy), 0.0F, 1.0F);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

constexpr int kSide = 28;

/// Draws one glyph into 28x28 values, deformed by random numbers.
void draw(const Glyph& glyph, const Draws& draws, float* image) {
  const float angle = 0.25F * normal(draws, 0), size = 8.5F * (1 + 0.12F * normal(draws, 1)),
              slant = 0.2F * normal(draws, 2);
  const float x0 = 14 + 1.8F * normal(draws, 3), y0 = 14 + 1.8F * normal(draws, 4);
  const float width = 1.1F + 0.35F * std::abs(normal(draws, 5)), noise = 0.08F + 0.08F * draws.unit(900);
  std::vector<std::pair<Point, Point>> lines;
  uint64_t joint = 10;
  for (const Stroke& stroke : glyph) {
    Stroke moved;
    for (const Point& p : stroke) {
      const float x = p.x + 0.07F * normal(draws, joint), y = p.y + 0.07F * normal(draws, joint + 1);
      joint += 2;
      const float sx = x + slant * y;
      moved.push_back({x0 + size * (std::cos(angle) * sx - std::sin(angle) * y),
                       y0 + size * (std::sin(angle) * sx + std::cos(angle) * y)});
    }
    for (size_t i = 0; i + 1 < moved.size(); ++i) lines.emplace_back(moved[i], moved[i + 1]);
  }
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      float nearest = 1e6F;
      for (const auto& [a, b] : lines)
        nearest = std::min(nearest, distance({float(x) + 0.5F, float(y) + 0.5F}, a, b));
      const float ink = std::clamp(width + 0.5F - nearest, 0.0F, 1.0F);
      image[y * kSide + x] =
          std::clamp(ink + noise * normal(draws, uint64_t(1000 + y * kSide + x)), 0.0F, 1.0F);
    }
}

}  // namespace

Examples make_spirals(int64_t count, uint64_t seed) {
  Examples e{.dims = {2}, .classes = 3, .values = {}, .labels = {}};
  for (int64_t i = 0; i < count; ++i) {
    const Draws draws(seed, uint64_t(i), 300);
    const int64_t arm = i % e.classes;
    const float r = 0.1F + 0.9F * draws.unit(400), angle = 2 * float(M_PI) * (float(arm) / 3 + 0.9F * r);
    e.values.push_back(r * std::cos(angle) + 0.025F * normal(draws, 0));
    e.values.push_back(r * std::sin(angle) + 0.025F * normal(draws, 1));
    e.labels.push_back(int32_t(arm));
  }
  return e;
}

Examples make_glyphs(int64_t count, uint64_t seed) {
  Examples e{.dims = {1, kSide, kSide},
             .classes = 10,
             .values = std::vector<float>(size_t(count) * kSide * kSide),
             .labels = std::vector<int32_t>(size_t(count)),
             .names = {"ring", "cross", "triangle", "square", "x", "s", "t", "l", "w", "e"}};
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    const Draws draws(seed, uint64_t(i), 301);
    e.labels[size_t(i)] = int32_t(draws.below(0, 10));
    draw(glyphs()[size_t(e.labels[size_t(i)])], Draws(seed, uint64_t(i), 302),
         e.values.data() + i * kSide * kSide);
  }
  return e;
}

}  // namespace klab::learning
