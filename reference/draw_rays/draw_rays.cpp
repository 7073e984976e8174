#include "reference/draw_rays/draw_rays.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"

namespace klab {

namespace {
struct Seen {
  bool any = false;  // ray that ends there
  double direction[3] = {1, 0, 0};
  double error = 0;  // error of the direction for a unit roundoff of the image coordinates
};

struct Point {
  double x, y;
};

double squared(Point p) { return p.x * p.x + p.y * p.y; }

// Returns r² of the first zero of the derivative 1 + 3·k1·r² + 5·k2·r⁴; infinite if there is none.
double fold_of(double k1, double k2) {
  const double none = std::numeric_limits<double>::infinity();
  if (k2 == 0) return k1 < 0 ? -1 / (3 * k1) : none;
  const double inside = 9 * k1 * k1 - 20 * k2;
  if (inside < 0) return none;
  // The roots are 2/(b ± sqrt(b² - 4a)): the one with the large sum loses no digits; the other follows from
  // their product 1/a.
  const double sum = -3 * k1 - std::copysign(std::sqrt(inside), k1);
  const double one = sum != 0 ? 2 / sum : -1, other = sum / (10 * k2);
  double least = none;
  for (const double root : {one, other})
    if (root > 0) least = std::min(least, root);
  return least;
}

// Inverts the lens for q; returns whether any p leads to q.
bool undo_lens(const double* c, Point q, Point& p) {
  const double k1 = c[4], k2 = c[5], p1 = c[6], p2 = c[7], fold = fold_of(k1, k2);
  const double enough = 1e-10 * (1 + std::sqrt(squared(q)));
  p = q;
  if (squared(q) >= fold) {
    const double shorter = 0.9 * std::sqrt(fold / squared(q));
    p = {q.x * shorter, q.y * shorter};
  }
  for (int i = 0; i < DrawRays::kLensSteps; ++i) {
    const double r2 = squared(p), radial = 1 + r2 * (k1 + r2 * k2), slope = 2 * (k1 + 2 * r2 * k2);
    const double ex = p.x * radial + 2 * p1 * p.x * p.y + p2 * (r2 + 2 * p.x * p.x) - q.x;
    const double ey = p.y * radial + 2 * p2 * p.x * p.y + p1 * (r2 + 2 * p.y * p.y) - q.y;
    if (std::abs(ex) + std::abs(ey) <= enough) return true;
    const double xx = radial + p.x * p.x * slope + 2 * p1 * p.y + 6 * p2 * p.x;
    const double xy = p.x * p.y * slope + 2 * p1 * p.x + 2 * p2 * p.y;
    const double yy = radial + p.y * p.y * slope + 2 * p2 * p.x + 6 * p1 * p.y;
    const double det = xx * yy - xy * xy;
    if (!(std::abs(det) > 1e-12)) return false;
    Point step = {(yy * ex - xy * ey) / det, (xx * ey - xy * ex) / det};
    int halved = 0;
    while (halved < 30 && !(squared({p.x - step.x, p.y - step.y}) < fold)) {
      step = {0.5 * step.x, 0.5 * step.y};
      ++halved;
    }
    if (halved == 30) return false;
    p = {p.x - step.x, p.y - step.y};
  }
  return false;
}

Seen look(const double* c, double u, double v) {
  const Point q = {(u - c[2]) / c[0], (v - c[3]) / c[1]};
  Point p = q;
  const bool lens = c[4] != 0 || c[5] != 0 || c[6] != 0 || c[7] != 0;
  if (lens && !undo_lens(c, q, p)) return {};
  Seen seen{.any = true};
  double length = 0;
  for (int a = 0; a < 3; ++a) {
    const double* row = c + 8 + 4 * a;
    seen.direction[a] = p.x * row[0] - p.y * row[1] - row[2];
    length += seen.direction[a] * seen.direction[a];
  }
  for (double& d : seen.direction) d /= std::sqrt(length);
  seen.error = 2 + (u + std::abs(c[2])) / c[0] + (v + std::abs(c[3])) / c[1];
  return seen;
}

}  // namespace

void DrawRays::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.seed)[k] = uint32_t(random());
  const_cast<uint32_t*>(x.step)[0] = uint32_t(random.widely ? random() : random() % 1000);
  if (random.widely)
    const_cast<uint32_t*>(x.step)[1] = uint32_t(random());  // parts of a batch, and long runs
  *const_cast<int32_t*>(x.count) = int32_t(s.rays - int64_t(random() % 3) % (s.rays + 1));
  std::uniform_real_distribution<float> unit(-1, 1);
  const int64_t each = s.pixels > 0 ? s.pixels / s.views : 64;
  for (int64_t v = 0; v < s.views; ++v) {
    auto* place = const_cast<int64_t*>(x.places) + kPlace * v;
    const int64_t width = 1 + int64_t(random() % uint64_t(std::min<int64_t>(each, 97)));
    const bool known = s.depths > 0 && v % 3 != 2;
    const int64_t all = width * (each / width), list = s.listed / s.views;
    const bool some = list > 0 && v % 3 != 0;
    for (const int64_t value :
         {width, each / width, v * each, known ? v * each : -1, some ? list : all, some ? v * list : -1})
      *place++ = value;
    for (int64_t i = 0; i < list; ++i)
      const_cast<int32_t*>(x.seen)[v * list + i] = int32_t(random() % uint64_t(all));
    float* c = const_cast<float*>(x.cameras) + 20 * v;
    // A picture of about a hundred degrees at most: lens models hold for the visible range only.
    const float size = float(std::max<int64_t>({8, width, each / width}));
    c[0] = c[1] = size * (1.2F + 0.5F * unit(random));
    c[2] = 0.5F * float(width) + unit(random);
    c[3] = 0.5F * float(each / width) + unit(random);
    for (int k = 4; k < 8; ++k) c[k] = v % 2 == 0 ? 0 : (k < 6 ? 0.05F : 0.01F) * unit(random);
    if (v % 4 == 1) {  // a wide lens whose polynomial folds within the picture's corners
      c[0] = c[1] = size * 0.4F;
      c[4] = 0.06F;
      c[5] = -0.08F;
    }
    // A rotation about two axes, so that the columns are orthonormal.
    const float a = 3 * unit(random), b = 1.5F * unit(random);
    const float pose[12] = {std::cos(a),
                            -std::sin(a) * std::cos(b),
                            std::sin(a) * std::sin(b),
                            unit(random),
                            std::sin(a),
                            std::cos(a) * std::cos(b),
                            -std::cos(a) * std::sin(b),
                            unit(random),
                            0,
                            std::sin(b),
                            std::cos(b),
                            unit(random)};
    std::copy(pose, pose + 12, c + 8);
  }
  for (int64_t i = 0; i < 4 * s.pixels; ++i)
    const_cast<uint8_t*>(x.image)[i] = random() % 8 < 2 ? uint8_t(255 * (random() % 2)) : uint8_t(random());
}

void DrawRays::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const auto put = [&](int64_t r, double* out, double* size, int64_t c, double value, double error) {
    out[c * s.rays + r] = value;
    size[c * s.rays + r] = error;
  };
  for (int64_t r = 0; r < s.rays; ++r) {
    const bool live = r < *x.count;
    const dropout::Key key = {x.seed[0], x.seed[1]};
    const auto words = dropout::random_words({uint32_t(r), 0, x.step[0], x.step[1]}, key);
    const auto behind = dropout::random_words({uint32_t(r), 1, x.step[0], x.step[1]}, key);
    const int64_t view = s.drawn ? int64_t(uint64_t(words[0]) * uint64_t(s.views) >> 32) : 0;
    const int64_t* place = x.places + kPlace * view;
    int64_t pixel = (int64_t(x.step[0]) + r) % (place[0] * place[1]);
    if (s.drawn) {
      pixel = int64_t(uint64_t(words[1]) * uint64_t(place[4]) >> 32);
      if (place[5] >= 0) pixel = x.seen[place[5] + pixel];
    }
    const double* camera = x.cameras + 20 * view;
    const double u = double(pixel % place[0]), v = double(pixel / place[0]);
    Seen seen;
    if (s.drawn == 2)
      seen = look(camera, u + (double(words[3] >> 24) + 0.5) / 256,
                  v + (double(words[3] >> 16 & 255) + 0.5) / 256);
    if (!seen.any) seen = look(camera, u + 0.5, v + 0.5);
    const uint8_t* bytes = x.image + 4 * (place[2] + pixel);
    for (int64_t c = 0; c < 3; ++c) {
      const double white =
          s.background == 2 ? double(behind[size_t(c)] >> 8) * 0x1p-24 : double(s.background);
      const double alpha = s.pixels > 0 ? bytes[3] / 255.0 : 0;
      const double color = s.pixels > 0 ? alpha * bytes[c] / 255.0 + (1 - alpha) * white : white;
      put(r, x.origins, magnitude.origins, c, live && seen.any ? camera[8 + 4 * c + 3] : 1e3, 0);
      put(r, x.directions, magnitude.directions, c, live ? seen.direction[c] : double(c == 0), seen.error);
      put(r, x.backdrop, magnitude.backdrop, c, live ? white : 0, 0);
      put(r, x.color, magnitude.color, c, live ? color : 0, 1);
    }
    put(r, x.jitter, magnitude.jitter, 0, !live ? 0 : s.drawn ? double(words[2] >> 8) * 0x1p-24 : 0.5, 0);
    const bool known = live && s.depths > 0 && place[3] >= 0;
    put(r, x.depth, magnitude.depth, 0, known ? x.true_depth[place[3] + pixel] : 0, 0);
  }
}

}  // namespace klab
