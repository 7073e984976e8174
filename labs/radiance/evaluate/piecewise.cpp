#include "labs/radiance/evaluate/piecewise.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <utility>

namespace klab {
namespace {

int64_t first_pixels(const FieldModel& model, const BackendChoice& where, const PieceOptions& o) {
  int64_t pixels = o.pixels > 0 ? o.pixels : Renderer::kRays;
  if (o.pixels == 0 && o.memory == 0) return pixels;
  if (model.piece_bytes(where, pixels) == 0)
    throw std::runtime_error(fmt::format("{}: pictures of {} are drawn as a whole: leave it out",
                                         o.pixels > 0 ? "--batch" : "--memory", model.field()));
  if (o.memory == 0) return pixels;
  while (pixels / 2 >= PiecewisePictures::kLeast && model.piece_bytes(where, pixels) > o.memory) pixels /= 2;
  if (const int64_t least = model.piece_bytes(where, pixels); least > o.memory)
    throw std::runtime_error(fmt::format(
        "--memory: drawing {} pixels at a time takes {:.1f} MB, and {:.1f} MB are allowed: allow as many",
        pixels, double(least) * 1e-6, double(o.memory) * 1e-6));
  return pixels;
}

}  // namespace

PiecewisePictures::PiecewisePictures(const FieldModel& model, Plan plan, const BackendChoice& where,
                                     const PieceOptions& options, std::function<void(const std::string&)> say)
    : model_(model),
      plan_(std::move(plan)),
      where_(where),
      pixels_(first_pixels(model, where, options)),
      say_(std::move(say)) {
  if (options.memory > 0 || options.pixels > 0)
    say_(fmt::format("pieces    {} pixels at a time, {:.1f} MB for drawing", pixels_,
                     double(model.piece_bytes(where, pixels_)) * 1e-6));
}

void PiecewisePictures::halve() {
  render_ = nullptr;  // lets go of what it has
  if (model_.piece_bytes(where_, pixels_) == 0 || pixels_ / 2 < kLeast)
    throw std::runtime_error(
        fmt::format("out of memory: not even {} pixels at a time can be drawn: close other programs, or take "
                    "a smaller model or --precision int8",
                    pixels_));
  pixels_ /= 2;
  say_(fmt::format("memory    an allocation failed: {} pixels at a time from here on", pixels_));
}

void PiecewisePictures::draw_all(const std::function<void(int64_t)>& work) {
  while (true) {
    try {
      return work(pixels_);
    } catch (const std::bad_alloc&) {
      halve();
    }
  }
}

Picture PiecewisePictures::draw(const Camera& camera) {
  Picture picture;
  draw_all([&](int64_t pixels) {
    if (!render_) render_ = model_.renderer(plan_, where_, pixels);
    picture = render_(camera);
  });
  return picture;
}

}  // namespace klab
