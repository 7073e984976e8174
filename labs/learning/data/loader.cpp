#include "labs/learning/data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "harness/program/random.h"

namespace klab::learning {
namespace {

/// Turns, scales and shifts the image by bilinear interpolation. Outside, it has the value of its corner.
void warp(const float* from, const Dims& dims, const Draws& draws, const LoaderSettings& s, float* to) {
  const auto between = [&](uint64_t i, double most) { return most * (2 * double(draws.unit(i)) - 1); };
  const double angle = between(0, s.degrees) * M_PI / 180, zoom = 1 + between(1, s.scale);
  const double dx = between(2, s.shift), dy = between(3, s.shift);
  const int64_t h = dims[1], w = dims[2];
  const double cx = double(w - 1) / 2, cy = double(h - 1) / 2;
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x) {
      const double u = double(x) - cx - dx, v = double(y) - cy - dy;
      const double sx = cx + (std::cos(angle) * u + std::sin(angle) * v) / zoom;
      const double sy = cy + (-std::sin(angle) * u + std::cos(angle) * v) / zoom;
      const auto x0 = int64_t(std::floor(sx)), y0 = int64_t(std::floor(sy));
      const double fx = sx - double(x0), fy = sy - double(y0);
      for (int64_t c = 0; c < dims[0]; ++c) {
        const float* plane = from + c * h * w;
        const auto pixel = [&](int64_t row, int64_t column) {
          return row < 0 || column < 0 || row >= h || column >= w ? double(plane[0])
                                                                  : double(plane[row * w + column]);
        };
        to[(c * h + y) * w + x] = float((1 - fy) * ((1 - fx) * pixel(y0, x0) + fx * pixel(y0, x0 + 1)) +
                                        fy * ((1 - fx) * pixel(y0 + 1, x0) + fx * pixel(y0 + 1, x0 + 1)));
      }
    }
}

}  // namespace

Loader::Loader(const Examples& examples, const LoaderSettings& settings, double mean, double deviation)
    : examples_(examples),
      settings_(settings),
      mean_(float(mean)),
      deviation_(float(deviation)),
      slots_(size_t(settings.prefetch ? settings.ahead + 1 : 1)) {
  if (settings.batch < 1 || settings.batch > examples.count())
    throw std::invalid_argument(
        fmt::format("--batch {} is larger than the set of {} examples: take at most that many",
                    settings.batch, examples.count()));
  if (settings.prefetch && (settings.ahead < 1 || settings.workers < 1 || settings.workers > settings.ahead))
    throw std::invalid_argument(fmt::format(
        "--workers {} prepare at most --ahead {} batches at a time: take as many batches ahead, or fewer "
        "workers",
        settings.workers, settings.ahead));
  for (Slot& s : slots_) {
    s.batch.values = Array<float>(settings.own() * volume(examples.dims));
    s.batch.labels = Array<int32_t>(settings.own());
  }
}

Loader::~Loader() {
  for (const Slot& s : slots_)
    if (s.made.valid()) s.made.wait();
}

Loader::Order Loader::order_of(int64_t epoch) {
  const std::lock_guard<std::mutex> lock(order_mutex_);
  if (ordered_ == epoch) return order_;
  std::vector<int64_t> order(size_t(examples_.count()));
  std::iota(order.begin(), order.end(), 0);
  const Draws draws(settings_.seed, uint64_t(epoch), 310);
  for (int64_t i = examples_.count() - 1; settings_.shuffle && i > 0; --i)  // Fisher-Yates shuffle
    std::swap(order[size_t(i)], order[size_t(draws.below(uint64_t(i), i + 1))]);
  order_ = std::make_shared<const std::vector<int64_t>>(std::move(order));
  ordered_ = epoch;
  return order_;
}

void Loader::make(int64_t step, Batch& batch) {
  const int64_t epoch = step / steps_per_epoch(), own = settings_.own(), skipped = settings_.rank * own;
  const int64_t first = step % steps_per_epoch() * settings_.batch + skipped;
  const Order order = order_of(epoch);
  const int64_t size = volume(examples_.dims);
  const bool warps =
      examples_.images() && (settings_.degrees > 0 || settings_.scale > 0 || settings_.shift > 0);
  // While a step runs, its ops use all threads, so one more is enough here. Before the step, use all of them.
#pragma omp parallel for schedule(static) if (!settings_.prefetch && warps)
  for (int64_t i = 0; i < own; ++i) {
    const int64_t example = (*order)[size_t(first + i)];
    const float* from = examples_.values.data() + example * size;
    float* to = batch.values.data() + i * size;
    if (warps)
      warp(from, examples_.dims, Draws(settings_.seed, uint64_t(step * settings_.batch + skipped + i), 311),
           settings_, to);
    else
      std::copy_n(from, size, to);
    for (int64_t j = 0; j < size; ++j) to[j] = (to[j] - mean_) / deviation_;
    batch.labels[i] = examples_.labels[size_t(example)];
  }
}

void Loader::prepare(int64_t step) {
  Slot& slot = slot_of(step);
  if (slot.step == step) return;
  if (slot.made.valid()) slot.made.wait();
  slot.step = step;
  // A batch waits for the one that is `workers` steps earlier, so that no more than that many are made at a time.
  const Slot& before = slot_of(std::max<int64_t>(0, step - settings_.workers));
  std::shared_future<void> turn =
      before.step == step - settings_.workers ? before.made : std::shared_future<void>();
  slot.made = std::async(std::launch::async, [this, step, &slot, turn = std::move(turn)]() mutable {
                if (turn.valid()) turn.wait();
                turn = {};  // otherwise each batch would keep all that were made before it
                make(step, slot.batch);
              }).share();
}

const Batch& Loader::at(int64_t step) {
  Slot& now = slot_of(step);
  if (now.made.valid()) now.made.wait();
  if (now.step != step) {
    make(step, now.batch);
    now.step = step;
    now.made = {};
  }
  for (int64_t next = step + 1; next < step + int64_t(slots_.size()); ++next) prepare(next);
  return now.batch;
}

Scale scale_of(const Examples& e) {
  if (!e.images()) return {};
  double sum = 0, squares = 0;
  for (const float v : e.values) sum += double(v), squares += double(v) * double(v);
  const double n = double(e.values.size()), mean = sum / n;
  return {mean, std::sqrt(std::max(1e-12, squares / n - mean * mean))};
}

}  // namespace klab::learning
