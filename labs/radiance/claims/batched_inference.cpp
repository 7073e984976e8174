// Experiment batched_inference: pictures by few pixels at a time and by many, and many views through one
// queue.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/evaluate/picture_queue.h"
#include "labs/radiance/evaluate/renderer.h"

namespace klab::learning::batched_inference_claim {
namespace {

const Claim kBatched{.id = "batched_inference.pixels",
                     .said = "batched inference is 40 to 60 % faster",
                     .source = "plan",
                     .metric = "times as fast by 8192 pixels at a time",
                     .rule = at_least(1.4),
                     .kind = ClaimKind::timed,
                     .on = "the pixels at a time before"};
const Claim kViewsAtOnce{.id = "batched_inference.views",
                         .said = "rendering many views at once is 40 to 60 % faster",
                         .source = "plan",
                         .metric = "times as fast by one queue as one after the other",
                         .rule = at_least(1.4),
                         .kind = ClaimKind::timed};
const Claim kBusy{.id = "batched_inference.busy",
                  .said = "batches raise the utilization of the processor by 20 to 30 %",
                  .source = "plan",
                  .metric = "share of the processor, queue over frame by frame",
                  .rule = at_least(1.2),
                  .kind = ClaimKind::timed};

constexpr int64_t kSteps = 150;
constexpr int kRounds = 3;
constexpr size_t kViews = 4;

/// Seconds of a round, and the busy share of the processor's threads.
struct Round {
  double seconds = 0, busy = 0;
};

Round timed(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double used = double(std::clock() - cpu) / CLOCKS_PER_SEC;
  return {took.count(), std::min(1.0, used / took.count() / omp_get_max_threads())};
}

/// A way to make the pictures, and its rounds; ways take turns.
struct Way {
  std::string name;
  std::function<void()> work;
  std::vector<Round> rounds;
};

/// Returns how many times as fast as a b is, round by round.
std::vector<double> faster(const Way& b, const Way& a) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.rounds.size(); ++i) ratios.push_back(a.rounds[i].seconds / b.rounds[i].seconds);
  return ratios;
}

double busy(const Way& way) {
  std::vector<double> shares;
  for (const Round& r : way.rounds) shares.push_back(r.busy);
  return measured("", shares).value;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"pictures", "ms a picture", "pictures/s", "processor busy"},
              .x = "pixels at a time",
              .y = "pictures/s",
              .log_x = true};
  const Scene scene = built_in_scene({.downscale = 8});
  const Config config = small_hash_config();
  const Plan plan = small_plan(config, scene.cascades);
  Trainer trainer(scene, config, plan, seed);
  for (int64_t i = 0; i < kSteps; ++i) trainer.step(double(i) / kSteps);
  const Model model = trainer.averaged();
  const Scene large = built_in_scene({.downscale = 4});
  std::vector<Camera> cameras;
  for (size_t i = 0; i < std::min(kViews, large.test.size()); ++i) cameras.push_back(large.test[i].camera);

  std::vector<Way> ways;
  const std::vector<int64_t> sizes = {128, 512, 2048, 8192};
  for (const int64_t pixels : sizes)
    ways.push_back({fmt::format("one after the other, {} pixels at a time", pixels),
                    [&, pixels] {
                      Renderer renderer(model, plan, pixels);
                      for (const Camera& c : cameras) renderer.render(c);
                    },
                    {}});
  ways.push_back({"all through one queue",
                  [&] {
                    render_all(model, plan, cameras, {.workers = omp_get_max_threads()},
                               [](size_t, const Picture&) {});
                  },
                  {}});
  for (int round = 0; round < kRounds; ++round)
    for (Way& w : ways) w.rounds.push_back(timed(w.work));

  Curve curve{"one after the other", {}};
  for (size_t k = 0; k < ways.size(); ++k) {
    double least = ways[k].rounds.front().seconds;
    for (const Round& r : ways[k].rounds) least = std::min(least, r.seconds);
    const double each = least / double(cameras.size());
    out.rows.push_back({ways[k].name, fmt::format("{:.1f}", 1000 * each), fmt::format("{:.2f}", 1 / each),
                        percent_text(busy(ways[k]))});
    if (k < sizes.size()) curve.points.emplace_back(double(sizes[k]), 1 / each);
  }
  out.curves = {curve};
  const Way &few = ways[0], &many = ways[sizes.size() - 1], &some = ways[sizes.size() - 2],
            &queue = ways.back();
  const Measured rays = measured("ratio of times", faster(many, few)),
                 last = measured("ratio of times", faster(many, some)),
                 views = measured("ratio of times", faster(queue, many)),
                 use = measured("share of the processor, queue over frame by frame",
                                {busy(queue) / std::max(busy(many), 1e-9)});
  out.decided = {
      decide(
          kBatched, {{"128", {rays.value}}, {"2048", {last.value}}},
          fmt::format(
              "{:.2f} times as fast by {} pixels at a time as by {}, {:.2f} times as by {}: on how small the "
              "batch was before",
              rays.value, sizes.back(), sizes.front(), last.value, sizes[sizes.size() - 2])),
      decide(
          kViewsAtOnce, views.value,
          fmt::format("all through one queue are {:.2f} times as fast as one after the other, on {} threads",
                      views.value, omp_get_max_threads())),
      decide(
          kBusy, use.value,
          fmt::format(
              "busy to {} frame by frame with {} pixels at a time, to {} with {}, to {} through the queue; "
              "busy is not fast: threads that wait for each other count as busy",
              percent_text(busy(few)), sizes.front(), percent_text(busy(many)), sizes.back(),
              percent_text(busy(queue))))};
  return out;
}

const ExperimentRegistrar registrar({"batched_inference",
                                     "Pictures by few and by many pixels at a time",
                                     run,
                                     nullptr,
                                     {kBatched, kViewsAtOnce, kBusy}});

}  // namespace
}  // namespace klab::learning::batched_inference_claim
