#include "labs/radiance/evaluate/renderer.h"

#include <algorithm>

namespace klab {
namespace {

constexpr int64_t kRays = Renderer::kRays;
constexpr int64_t kMarched = 256;          // room for samples of a pixel, on average
constexpr int64_t kFirst = 8, kMost = 16;  // samples of a ray in the first piece, and in later ones

/// Returns pixel i of a list, or of the picture without one.
int64_t listed_pixel(const int32_t* list, int64_t i) { return list != nullptr ? list[i] : i; }

int64_t marched_for(const Config& config, int64_t pixels) {
  return std::max(pixels * kMarched, config.max_samples_per_ray);
}

}  // namespace

std::vector<PlannedCall> render_calls(const Config& config, int cascades, double times, Storage precision) {
  return shading_calls(config, cascades, kRays, kRays * kFirst, marched_for(config, kRays), times, precision);
}

Renderer::Renderer(const Model& model, Plan plan, int64_t pixels)
    : model_(model),
      plan_(std::move(plan)),
      pixels_(pixels),
      field_(model, plan_, profile_, pixels * kMost),
      marched_(model, pixels, marched_for(model.config, pixels)),
      piece_(model, pixels, pixels * kMost),
      stop_(float(model.config.early_stop)) {
  going_on_.reserve(size_t(pixels));
  progress_.reserve(size_t(pixels));
}

int64_t Renderer::bytes_of(const Config& config, int64_t pixels) {
  return Field::bytes_of(config, pixels * kMost) + RayBatch::bytes_of(pixels, marched_for(config, pixels)) +
         RayBatch::bytes_of(pixels, pixels * kMost) + pixels * 16;
}

Picture Renderer::empty_picture(const Camera& camera) {
  Picture out;
  out.width = camera.width;
  out.height = camera.height;
  const int64_t pixels = int64_t(camera.width) * camera.height;
  out.rgb.assign(size_t(3 * pixels), 0.0F);
  out.opacity.assign(size_t(pixels), 0.0F);
  out.depth.assign(size_t(pixels), 0.0F);
  return out;
}

void Renderer::draw(const Camera& camera, int64_t begin, int64_t pixels, Picture& out) {
  draw(camera, nullptr, begin, begin + pixels, out);
}

void Renderer::draw(const Camera& camera, std::span<const int32_t> pixels, Picture& out) {
  for (const int32_t pixel : pixels) {
    std::fill_n(out.rgb.begin() + 3 * int64_t(pixel), 3, 0.0F);
    out.opacity[size_t(pixel)] = out.depth[size_t(pixel)] = 0;
  }
  draw(camera, pixels.data(), 0, int64_t(pixels.size()), out);
}

void Renderer::draw(const Camera& camera, const int32_t* list, int64_t begin, int64_t end, Picture& out) {
  for (int64_t first = begin; first < end; first += marched_.rays) {
    marched_.rays = std::min(pixels_, end - first);
    draw_rays(camera, list, first);
    march(model_, plan_, profile_, marched_);
    keep_rays(marched_, whole_rays(marched_, model_.config.max_samples_per_ray));
    render_pieces(list, first, out);
  }
  const float back = model_.placement.black ? 0.0F : 1.0F;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t pixel = listed_pixel(list, i);
    for (int64_t c = 0; c < 3; ++c) out.rgb[size_t(3 * pixel + c)] += (1 - out.opacity[size_t(pixel)]) * back;
  }
}

Picture Renderer::render(const Camera& camera) {
  Picture out = empty_picture(camera);
  draw(camera, 0, int64_t(camera.width) * camera.height, out);
  return out;
}

void Renderer::draw_rays(const Camera& in_grid, const int32_t* list, int64_t first) {
  const Camera camera = model_.placement.in_axes(in_grid);
  const int64_t n = marched_.rays;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < n; ++r) {
    const int64_t pixel = listed_pixel(list, first + r), row = pixel / camera.width,
                  column = pixel % camera.width;
    const Ray ray = camera.ray(float(column) + 0.5F, float(row) + 0.5F);
    const float o[3] = {ray.origin.x, ray.origin.y, ray.origin.z};
    const float d[3] = {ray.direction.x, ray.direction.y, ray.direction.z};
    for (int64_t c = 0; c < 3; ++c) {
      marched_.origins[c * n + r] = o[c];
      marched_.directions[c * n + r] = d[c];
    }
    marched_.jitter[r] = 0.5F;
  }
}

void Renderer::render_pieces(const int32_t* list, int64_t first, Picture& out) {
  going_on_.clear();
  progress_.resize(size_t(marched_.rays));
  for (int64_t r = 0; r < marched_.rays; ++r) {
    progress_[size_t(r)] = {marched_.ray_begin[r], 1.0F};
    if (marched_.ray_begin[r] < marched_.ray_begin[r + 1]) going_on_.push_back(int32_t(r));
  }
  for (int64_t longest = kFirst; !going_on_.empty(); longest = kMost) {
    gather_piece(longest);
    shade_piece();
    // The color of a piece is attenuated by everything in front of it.
    for (size_t p = 0; p < going_on_.size(); ++p) {
      const auto at = int64_t(p), pixel = listed_pixel(list, first + going_on_[p]);
      Progress& ray = progress_[size_t(going_on_[p])];
      for (int64_t c = 0; c < 3; ++c)
        out.rgb[size_t(3 * pixel + c)] += ray.transmittance * piece_.color[c * piece_.rays + at];
      out.opacity[size_t(pixel)] += ray.transmittance * piece_.opacity[at];
      out.depth[size_t(pixel)] += ray.transmittance * piece_.depth[at];
      ray.transmittance *= 1 - piece_.opacity[at];
    }
    std::erase_if(going_on_, [&](int32_t r) {
      const Progress& ray = progress_[size_t(r)];
      return ray.next == marched_.ray_begin[r + 1] || ray.transmittance < stop_;
    });
  }
}

void Renderer::gather_piece(int64_t longest) {
  RayBatch& b = piece_;
  b.rays = int64_t(going_on_.size());
  b.ray_begin[0] = 0;
  for (int64_t p = 0; p < b.rays; ++p) {
    const int32_t r = going_on_[size_t(p)];
    const int64_t left = marched_.ray_begin[r + 1] - progress_[size_t(r)].next;
    b.ray_begin[p + 1] = b.ray_begin[p] + int32_t(std::min(longest, left));
  }
  b.samples = b.ray_begin[b.rays];
  samples_ += b.samples;
#pragma omp parallel for schedule(static, 64)
  for (int64_t p = 0; p < b.rays; ++p) {
    const int32_t r = going_on_[size_t(p)];
    int32_t& next = progress_[size_t(r)].next;
    const int64_t count = b.ray_begin[p + 1] - b.ray_begin[p];
    std::copy_n(marched_.t.data() + next, count, b.t.data() + b.ray_begin[p]);
    std::copy_n(marched_.delta.data() + next, count, b.delta.data() + b.ray_begin[p]);
    next += int32_t(count);
    for (int64_t c = 0; c < 3; ++c) {
      b.origins[c * b.rays + p] = marched_.origins[c * marched_.rays + r];
      b.directions[c * b.rays + p] = marched_.directions[c * marched_.rays + r];
      b.background[c * b.rays + p] = 0;
    }
  }
}

void Renderer::shade_piece() {
  RayBatch& b = piece_;
  place_samples(model_, b);
  spread_directions(b);
  field_.density(model_.of(Part::table).data(), model_.of(Part::density).data(), b.positions.data(),
                 b.samples);
  field_.color(model_.of(Part::color).data(), b.sample_directions.data(), b.samples);
  composite(plan_, profile_, field_, b);
}

}  // namespace klab
