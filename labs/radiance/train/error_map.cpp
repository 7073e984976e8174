#include "labs/radiance/train/error_map.h"

#include <algorithm>

#include "harness/program/random.h"
#include "reference/dropout_fwd/philox.h"

namespace klab {
namespace {

constexpr float kUnknown = -1, kKeep = 0.8F;  // of a block's loss, when a new one comes
constexpr uint64_t kPurpose = 110;

}  // namespace

ErrorMap::ErrorMap(const Scene& scene, double share) : share_(share) {
  int64_t blocks = 0;
  for (const View& v : scene.train) {
    Seen seen{.pixels = v.places_with_ray(), .listed = v.with_ray.get(), .first_block = blocks};
    seen.blocks = (seen.pixels + kBlock - 1) / kBlock;
    blocks += seen.blocks;
    views_.push_back(seen);
  }
  losses_.assign(size_t(blocks), kUnknown);
  drawn_by_ = losses_;
  pixels_.resize(size_t(listed()));
  blocks_.resize(size_t(listed()));
  weights_.resize(size_t(listed()));
  for (Seen& seen : views_) sum_up(seen);
}

float ErrorMap::loss_of(const Seen& seen, int64_t block) const {
  const float loss = losses_[size_t(seen.first_block + block)];
  return loss < 0 ? float(seen.mean) : loss;
}

int64_t ErrorMap::pixels_in(const Seen& seen, int64_t block) const {
  return std::min(kBlock, seen.pixels - block * kBlock);
}

void ErrorMap::sum_up(Seen& seen) const {
  double known = 0, sum = 0;
  for (int64_t b = 0; b < seen.blocks; ++b)
    if (const float loss = losses_[size_t(seen.first_block + b)]; loss >= 0) {
      known += 1;
      sum += double(loss);
    }
  seen.mean = known > 0 ? sum / known : 1;
  seen.sum = 0;
  for (int64_t b = 0; b < seen.blocks; ++b) seen.sum += double(loss_of(seen, b)) * double(pixels_in(seen, b));
}

double ErrorMap::probability(int64_t view, int64_t i) const {
  const Seen& seen = views_[size_t(view)];
  const double even = 1 / double(seen.pixels);
  if (!(seen.sum > 0)) return even;
  return (1 - share_) * even + share_ * double(loss_of(seen, i / kBlock)) / seen.sum;
}

void ErrorMap::draw(uint64_t seed, uint64_t turn) {
  drawn_by_ = losses_;
  const Draws draws(seed, turn, kPurpose);
#pragma omp parallel for schedule(dynamic)
  for (int64_t v = 0; v < views(); ++v) {
    Seen& seen = views_[size_t(v)];
    sum_up(seen);
    // Places of the list are evenly spaced along the cumulative probabilities of the blocks.
    const auto counter = uint64_t(v) * uint64_t(kList + 1);
    const double begin = double(draws.unit(counter));
    int64_t block = 0;
    double before = 0, size = probability(v, 0) * double(pixels_in(seen, 0));
    for (int64_t k = 0; k < kList; ++k) {
      const double at = (begin + double(k)) / double(kList);
      while (at >= before + size && block + 1 < seen.blocks) {
        before += size;
        ++block;
        size = probability(v, block * kBlock) * double(pixels_in(seen, block));
      }
      const int64_t inside = pixels_in(seen, block);
      const auto some = int64_t(double(draws.unit(counter + 1 + uint64_t(k))) * double(inside));
      const int64_t i = block * kBlock + std::min(some, inside - 1);
      const auto out = size_t(v * kList + k);
      pixels_[out] = seen.listed != nullptr ? (*seen.listed)[size_t(i)] : int32_t(i);
      blocks_[out] = int32_t(seen.first_block + block);
      weights_[out] = float(1 / (double(seen.pixels) * probability(v, i)));
    }
  }
}

void ErrorMap::learn(int64_t view, int64_t place, float loss) {
  float& known = losses_[size_t(blocks_[size_t(view * kList + place)])];
  known = known < 0 ? loss : kKeep * known + (1 - kKeep) * loss;
}

std::vector<TensorView> ErrorMap::state() const {
  const auto blocks = int64_t(losses_.size());
  return {{"error_map.losses", "F32", {blocks}, losses_.data()},
          {"error_map.drawn_by", "F32", {blocks}, drawn_by_.data()}};
}

void ErrorMap::draw_again(uint64_t seed, uint64_t turn) {
  const std::vector<float> now = losses_;
  losses_ = drawn_by_;
  draw(seed, turn);
  losses_ = now;
}

DrawnPixel drawn_pixel(const uint32_t seed[2], const uint32_t step[2], int64_t ray, int64_t views,
                       int64_t places) {
  const auto words = dropout::random_words({uint32_t(ray), 0, step[0], step[1]}, {seed[0], seed[1]});
  return {int64_t(uint64_t(words[0]) * uint64_t(views) >> 32),
          int64_t(uint64_t(words[1]) * uint64_t(places) >> 32)};
}

}  // namespace klab
