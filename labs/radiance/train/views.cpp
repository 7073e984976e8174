#include "labs/radiance/train/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

using PixelList = std::shared_ptr<const std::vector<int32_t>>;

/// Returns the lists of pixels with a ray, each once: views through one lens share theirs.
std::vector<PixelList> lists_with_ray(const Scene& scene) {
  std::vector<PixelList> lists;
  for (const View& v : scene.train)
    if (v.with_ray && std::ranges::find(lists, v.with_ray) == lists.end()) lists.push_back(v.with_ray);
  return lists;
}

/// The first picture and the first depth in memory.
struct First {
  const uint8_t* image = nullptr;
  const float* depth = nullptr;
};
First first_of(const Scene& scene) {
  First first;
  for (const View& v : scene.train) {
    if (first.image == nullptr || v.image.rgba.data() < first.image) first.image = v.image.rgba.data();
    if (!v.depth.empty() && (first.depth == nullptr || v.depth.data() < first.depth))
      first.depth = v.depth.data();
  }
  return first;
}

int64_t away(const void* p, const void* from, size_t size) {
  return int64_t(reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(from)) / int64_t(size);
}

}  // namespace

ViewData view_data_of(const Scene& scene, const PicturePool* pool) {
  ViewData data{.views = int64_t(scene.train.size())};
  for (const auto& list : lists_with_ray(scene)) data.listed += int64_t(list->size());
  for (const View& v : scene.train) {
    data.pixels += v.pixels();
    data.depth = data.depth || !v.depth.empty();
  }
  if (pool != nullptr) {
    data.views = int64_t(pool->places().size());
    data.pixels = pool->room();
    data.depth = false;
  }
  return data;
}

const Scene& with_views(const Scene& scene) {
  if (scene.train.empty()) throw std::invalid_argument("scene " + scene.name + " has no view to train on");
  return scene;
}

Placement placement_of(const Scene& scene, bool black, double near, double far) {
  Placement place{scene.cascades, scene.scale, scene.offset, near > 0 ? float(near) : scene.near, black};
  if (far > 0) place.far = float(far);
  if (place.far <= place.near)
    throw std::invalid_argument(
        fmt::format("config: \"far\" is {:g}, but rays of {} begin at {:g} sides of the unit cube: take a "
                    "larger \"far\", or a smaller \"near\"",
                    far, scene.name, place.near));
  return place;
}

void ViewLoader::tie(Memory& memory) const {
  if (!memory.backend().in_host_memory) return;
  if (pool_ != nullptr) return memory.mirror(t_.image, const_cast<uint8_t*>(pool_->pixels()));
  const First first = first_of(scene_);
  memory.mirror(t_.image, const_cast<uint8_t*>(first.image));
  if (first.depth != nullptr) memory.mirror(t_.true_depth, const_cast<float*>(first.depth));
}

void ViewLoader::write(Memory& memory) const {
  int64_t listed = 0;
  for (const PixelList& list : lists_with_ray(scene_)) {
    memory.write(t_.seen.from(listed), list->data(), list->size() * sizeof(int32_t));
    listed += int64_t(list->size());
  }
  if (pool_ != nullptr)
    for (const PicturePool::Place& place : pool_->places()) load_picture(memory, place);
  else
    load_own_pictures(memory);
  memory.loaded();
  write_places(memory);
}

void ViewLoader::load_picture(Memory& memory, const PicturePool::Place& place) const {
  if (memory.backend().in_host_memory) return;  // it is in place already
  memory.load(t_.image.from(4 * place.first_pixel), pool_->pixels() + 4 * place.first_pixel,
              size_t(4 * scene_.train[size_t(place.view)].pixels()));
}

void ViewLoader::load_own_pictures(Memory& memory) const {
  if (memory.backend().in_host_memory) return;
  int64_t pixels = 0;
  for (const View& v : scene_.train) {
    memory.load(t_.image.from(4 * pixels), v.image.rgba.data(), v.image.rgba.size());
    memory.load(t_.true_depth.from(pixels), v.depth.data(), v.depth.size() * sizeof(float));
    pixels += v.pixels();
  }
}

void ViewLoader::write_places(Memory& memory, std::optional<size_t> place) const {
  const size_t views = pool_ != nullptr ? pool_->places().size() : scene_.train.size();
  const bool here = memory.backend().in_host_memory && pool_ == nullptr;
  const First first = here ? first_of(scene_) : First();
  constexpr auto kPlace = size_t(DrawRays::kPlace);
  std::vector<float> cameras(20 * views);
  std::vector<int64_t> places(kPlace * views);
  const std::vector<PixelList> lists = lists_with_ray(scene_);
  const auto list_begin = [&](const PixelList& list) {
    int64_t begin = 0;
    for (size_t i = 0; lists[i] != list; ++i) begin += int64_t(lists[i]->size());
    return begin;
  };
  int64_t pixels = 0;
  for (size_t i = 0; i < views; ++i) {
    const View& v = scene_.train[pool_ != nullptr ? size_t(pool_->places()[i].view) : i];
    const Camera& c = v.camera;
    const float lens[8] = {c.fx, c.fy, c.cx, c.cy, c.k1, c.k2, c.p1, c.p2};
    std::copy(lens, lens + 8, cameras.data() + 20 * i);
    std::copy(c.pose.begin(), c.pose.end(), cameras.data() + 20 * i + 8);
    const int64_t begin = pool_ != nullptr ? pool_->places()[i].first_pixel
                          : here           ? away(v.image.rgba.data(), first.image, 4)
                                           : pixels;
    const int64_t depth = v.depth.empty() || pool_ != nullptr ? -1
                          : here ? away(v.depth.data(), first.depth, sizeof(float))
                                 : pixels;
    const int64_t own[kPlace] = {
        c.width, c.height, begin, depth, v.places_with_ray(), v.with_ray ? list_begin(v.with_ray) : -1};
    std::copy(own, own + kPlace, places.data() + kPlace * i);
    pixels += v.pixels();
  }
  const size_t from = place.value_or(0), count = place ? 1 : views;
  memory.write(t_.cameras.from(int64_t(20 * from)), cameras.data() + 20 * from, 20 * count * sizeof(float));
  memory.write(t_.places.from(int64_t(kPlace * from)), places.data() + kPlace * from,
               kPlace * count * sizeof(int64_t));
}

ViewTensors declare_views(Memory& memory, const ViewData& data) {
  return {.cameras = memory.tensor<float>("cameras", data.views, 20),
          .places = memory.tensor<int64_t>("places", data.views, DrawRays::kPlace),
          .image = memory.tensor<uint8_t>("image", data.pixels, 4),
          .seen = memory.tensor<int32_t>("pixels with a ray", 1, data.listed),
          .true_depth = memory.tensor<float>("true depth", 1, data.depth ? data.pixels : 0)};
}

}  // namespace klab
