#include "labs/radiance/train/error_map.h"

#include <algorithm>

#include "harness/program/random.h"
#include "labs/radiance/train/ray_step.h"
#include "reference/axpy/axpy.h"
#include "reference/draw_rays/draw_rays.h"
#include "reference/error_map_draw/error_map_draw.h"
#include "reference/error_map_learn/error_map_learn.h"
#include "reference/error_map_weigh/error_map_weigh.h"

namespace klab {

ErrorMap::ErrorMap(const Scene& scene, double share)
    : views_(int64_t(scene.train.size())), share_(float(share)) {
  int64_t all = 0;
  for (const View& v : scene.train) {
    const int64_t n = v.places_with_ray(), own = (n + ErrorMapDraw::kBlock - 1) / ErrorMapDraw::kBlock;
    own_places_.insert(own_places_.end(), {n, -1, all, own});  // where they are listed, the views know
    all += own;
  }
  losses_ = Array<float>(all);
  drawn_by_ = Array<float>(all);
  std::ranges::fill(losses_, -1.0F);
  std::ranges::fill(drawn_by_, -1.0F);
}

void ErrorMap::declare(Memory& memory, const ViewTensors& views, int64_t before, const Count& rays) {
  tensors_of_views_ = views;
  before_ = before;
  rays_ = rays;
  pixels = views.seen.from(before);
  blocks = memory.tensor<int32_t>("blocks of listed pixels", views_, kList);
  weights = memory.tensor<float>("weights of listed pixels", views_, kList);
  key_ = memory.tensor<int32_t>("key of lists", 1, 2).as<uint32_t>();
  constants_ = memory.tensor<float>("share of the error map", 1, 2);
  places_ = memory.tensor<int64_t>("views of the error map", views_, ErrorMapDraw::kPlace);
  now_ = memory.tensor<float>("error map", 1, losses_.size());
  then_ = memory.tensor<float>("error map of the lists", 1, drawn_by_.size());
  memory.mirror(now_, losses_.data());
  memory.mirror(then_, drawn_by_.data());
  block_ = memory.tensor<int32_t>("blocks of rays", 1, rays);
}

void ErrorMap::write(Memory& memory) const {
  constexpr int64_t kPlace = DrawRays::kPlace;
  std::vector<int64_t> places(size_t(kPlace * views_)), own = own_places_;
  memory.read(places.data(), tensors_of_views_.places, places.size() * sizeof(int64_t));
  for (int64_t v = 0; v < views_; ++v) {
    own[size_t(ErrorMapDraw::kPlace * v + 1)] = places[size_t(kPlace * v + 5)];
    places[size_t(kPlace * v + 4)] = kList;
    places[size_t(kPlace * v + 5)] = before_ + v * kList;
  }
  memory.write(tensors_of_views_.places, places.data(), places.size() * sizeof(int64_t));
  memory.write(places_, own.data(), own.size() * sizeof(int64_t));
  const float constants[] = {share_, 1};
  memory.write(constants_, constants, sizeof constants);
}

void ErrorMap::write_turn(Memory& memory, uint64_t seed, uint64_t turn) const {
  constexpr uint64_t kPurpose = 110;
  const uint64_t key = mix(seed + mix(turn + mix(kPurpose + 1)));
  const uint32_t words[] = {uint32_t(key), uint32_t(key >> 32)};
  memory.write(key_, words, sizeof words);
}

void ErrorMap::draw(Ops& ops) const {
  const int64_t n = losses_.size();
  ops.fill("error map", then_, 0, n * int64_t(sizeof(float)));
  ops.call<Axpy>({.n = n}, {.a = constants_.from(1), .x = now_, .y = then_});
  draw_again(ops);
}

void ErrorMap::draw_again(Ops& ops) const {
  ops.call<ErrorMapDraw>({.views = views_, .blocks = losses_.size(), .listed = before_, .list = kList},
                         {.key = key_,
                          .share = constants_,
                          .places = places_,
                          .seen = tensors_of_views_.seen,
                          .losses = then_,
                          .pixels = pixels,
                          .blocks = blocks,
                          .weights = weights});
}

void ErrorMap::weigh(Ops& ops, const Handle<int32_t>& numbers, const Handle<float>& weight) const {
  ops.call<ErrorMapWeigh>({.rays = rays_, .views = views_, .list = kList},
                          {.seed = numbers_in(numbers, &StepNumbers::seed),
                           .step = numbers_in(numbers, &StepNumbers::step),
                           .count = number_in(numbers, &StepNumbers::rays),
                           .blocks = blocks,
                           .weights = weights,
                           .weight = weight,
                           .block = block_});
}

void ErrorMap::learn(Ops& ops, const Handle<int32_t>& numbers, const Handle<float>& losses) const {
  ops.call<ErrorMapLearn>(
      {.rays = rays_, .blocks = losses_.size()},
      {.count = number_in(numbers, &StepNumbers::whole), .block = block_, .value = losses, .losses = now_});
}

std::vector<TensorView> ErrorMap::state() const {
  return {{"error_map.losses", "F32", {losses_.size()}, losses_.data()},
          {"error_map.drawn_by", "F32", {drawn_by_.size()}, drawn_by_.data()}};
}

}  // namespace klab
