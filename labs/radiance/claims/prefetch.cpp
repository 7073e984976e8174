// Experiment prefetch: pictures that take turns in memory, read by zero to eight background threads.
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/scene/image.h"

namespace klab::learning::prefetch_claim {
namespace {

const Claim kBackground{
    .id = "prefetch.background",
    .said = "reading pictures in the background is faster than reading them when they are wanted",
    .source = "course",
    .metric = "time of a step without workers over that with the best number of them",
    .rule = at_least(1.1),
    .kind = ClaimKind::timed};
const Claim kMore{.id = "prefetch.more",
                  .said = "four or eight workers are better than one",
                  .source = "plan",
                  .metric = "time of a step with one worker over that with more",
                  .rule = at_least(1.1),
                  .kind = ClaimKind::timed,
                  .on = "the workers"};
const Claim kUse{.id = "prefetch.busy",
                 .said = "background loading raises the utilization of the processor by 20 to 30 %",
                 .source = "plan",
                 .metric = "share of the processor, with workers over without",
                 .rule = at_least(1.2),
                 .kind = ClaimKind::timed};

namespace fs = std::filesystem;

constexpr int kTimes = 6;  // width of a picture on the disk over that of a training picture
constexpr int kRounds = 3;
constexpr int64_t kSteps = 96;    // in a round: twelve turns
constexpr size_t kPictures = 20;  // that take turns
constexpr int kWorkers[] = {0, 1, 2, 4, 8};

/// The built-in scene as files that have to be decoded and made smaller at every turn, like photographs.
class OnDisk {
 public:
  OnDisk() : scene(built_in_scene({.downscale = 4})) {
    folder_ = fs::temp_directory_path() / fmt::format("klab_prefetch_{}", getpid());
    fs::create_directories(folder_);
    scene.train.resize(std::min(kPictures, scene.train.size()));
    for (View& view : scene.train) leave_on_disk(view);
  }
  ~OnDisk() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  OnDisk(const OnDisk&) = delete;
  OnDisk& operator=(const OnDisk&) = delete;

  Scene scene;

 private:
  void leave_on_disk(View& view) {
    const int w = view.camera.width, h = view.camera.height;
    std::vector<uint8_t> large(size_t(4 * w * h) * kTimes * kTimes);
    for (int y = 0; y < kTimes * h; ++y)
      for (int x = 0; x < kTimes * w; ++x)
        std::copy_n(view.image.rgba.begin() + 4 * (y / kTimes * w + x / kTimes), 4,
                    large.begin() + 4 * (int64_t(y) * kTimes * w + x));
    const fs::path file = folder_ / (view.name + ".png");
    fs::create_directories(file.parent_path());
    save_png(file, kTimes * w, kTimes * h, 4, large);
    const auto read = [file, w, h] {
      const Image stored = load_image(file);
      Image image = {.width = w,
                     .height = h,
                     .has_alpha = stored.has_alpha,
                     .rgba = std::vector<uint8_t>(size_t(4 * w * h))};
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x)
          std::copy_n(stored.rgba.begin() + 4 * (int64_t(y) * kTimes * stored.width + x * kTimes), 4,
                      image.rgba.begin() + 4 * (y * w + x));
      return image;
    };
    view.image = {};
    view.depth.clear();
    view.source = std::make_shared<PictureSource>(
        PictureSource{.file = file, .read = read, .bytes_to_read = int64_t(large.size())});
  }

  fs::path folder_;
};

struct Round {
  // of a step; busy share of the threads; share of the time spent waiting
  double seconds = 0, busy = 0, waited = 0;
};

Round steps_with(const Scene& scene, const Plan& plan, int workers, uint64_t seed) {
  PicturePool pool(
      scene.train,
      {.resident = 6, .ahead = std::max(1, workers), .workers = workers, .seed = seed, .cache = {}});
  Trainer trainer(scene, small_hash_config(), plan, seed, cpu_backend(), {}, &pool);
  for (int64_t i = 0; i < 2 * PictureTurns::kEvery; ++i) trainer.step(0);
  const double waited_before = trainer.profile().seconds().at("waiting for data");
  const std::clock_t cpu = std::clock();
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < kSteps; ++i) trainer.step(0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double used = double(std::clock() - cpu) / CLOCKS_PER_SEC;
  return {took.count() / kSteps, std::min(1.0, used / took.count() / omp_get_max_threads()),
          (trainer.profile().seconds().at("waiting for data") - waited_before) / took.count()};
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"workers", "ms a step", "waiting for data", "processor busy"},
              .x = "workers",
              .y = "ms a step"};
  const OnDisk disk;
  const Plan plan = small_plan(small_hash_config(), disk.scene.cascades);
  constexpr size_t kWays = std::size(kWorkers);
  std::vector<std::vector<Round>> rounds(kWays);
  for (int round = 0; round < kRounds; ++round)
    for (size_t k = 0; k < kWays; ++k) rounds[k].push_back(steps_with(disk.scene, plan, kWorkers[k], seed));
  const auto best = [&](size_t k) { return *std::ranges::min_element(rounds[k], {}, &Round::seconds); };
  const auto ratios = [&](size_t slow, size_t fast) {
    std::vector<double> list;
    for (int i = 0; i < kRounds; ++i)
      list.push_back(rounds[slow][size_t(i)].seconds / rounds[fast][size_t(i)].seconds);
    return measured("ratio of times", list);
  };
  Curve curve{"pictures that are decoded at every turn", {}};
  size_t fastest = 0;
  for (size_t k = 0; k < kWays; ++k) {
    const Round r = best(k);
    if (r.seconds < best(fastest).seconds) fastest = k;
    out.rows.push_back({std::to_string(kWorkers[k]), fmt::format("{:.2f}", 1000 * r.seconds),
                        percent_text(r.waited), percent_text(r.busy)});
    curve.points.emplace_back(double(kWorkers[k]), 1000 * r.seconds);
  }
  out.curves = {curve};
  const Measured background = ratios(0, fastest == 0 ? 1 : fastest), four = ratios(1, 3),
                 eight = ratios(1, 4);
  const double use = best(std::max<size_t>(1, fastest)).busy / std::max(best(0).busy, 1e-9);
  out.decided = {
      decide(kBackground, background.value,
             fmt::format("{:.2f} ms a step with {} workers, {:.2f} with none, who wait for data {} of the "
                         "time; {} threads "
                         "train",
                         1000 * best(std::max<size_t>(1, fastest)).seconds,
                         kWorkers[std::max<size_t>(1, fastest)], 1000 * best(0).seconds,
                         percent_text(best(0).waited), omp_get_max_threads())),
      decide(kMore, {{"four", {four.value}}, {"eight", {eight.value}}},
             fmt::format(
                 "{:.2f} times as fast with four, {:.2f} times with eight as with one, on {} threads that "
                 "steps and "
                 "workers share",
                 four.value, eight.value, omp_get_max_threads())),
      decide(kUse, use,
             fmt::format("busy to {} without workers, to {} with {}", percent_text(best(0).busy),
                         percent_text(best(std::max<size_t>(1, fastest)).busy),
                         kWorkers[std::max<size_t>(1, fastest)]))};
  return out;
}

const ExperimentRegistrar registrar(
    {"prefetch", "Pictures read ahead by none to eight threads", run, nullptr, {kBackground, kMore, kUse}});

}  // namespace
}  // namespace klab::learning::prefetch_claim
