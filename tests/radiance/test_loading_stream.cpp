// Pictures loaded on a separate stream: their order relative to the steps, with a stand-in for a GPU.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "harness/simt/profile.h"
#include "harness/simt/session.h"
#include "labs/radiance/run/shortage.h"
#include "labs/radiance/train/backends.h"
#include "reference/draw_rays/draw_rays.h"
#include "tests/radiance/late_gpu.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

using Loads = LateGpu::Loads;
using Lacks = LateGpu::Lacks;

/// Returns the value read by a step launched before a load to the same place, and by one after it.
std::pair<int, int> read_around_a_load(Loads loads, Lacks lacks) {
  LateGpu gpu(loads, lacks);
  const Backend b = cuda_backend();
  void* const p = b.alloc(sizeof(int), "picture");
  const int first = 1, second = 2;
  b.upload(p, &first, sizeof first);
  int ahead = 0, behind = 0;
  const auto read_into = [p](int& to) { return [p, &to] { simt::device_download(&to, p, sizeof to); }; };
  gpu.launch(read_into(ahead));
  EXPECT_EQ(b.load(p, &second, sizeof second), 0);
  b.loaded();
  gpu.launch(read_into(behind));
  b.wait();
  b.free(p, sizeof(int));
  return {ahead, behind};
}

TEST(LoadingStream, ALoadNeverOvertakesAStepThatReadsTheOldPicture) {
  for (const Loads loads : {Loads::late, Loads::early})
    EXPECT_EQ(read_around_a_load(loads, Lacks::nothing).first, 1);
  EXPECT_EQ(read_around_a_load(Loads::early, Lacks::load_behind_steps).first, 2)
      << "or this test sees nothing";
}

TEST(LoadingStream, AStepNeverStartsBeforeItsPicturesAreLoaded) {
  for (const Loads loads : {Loads::late, Loads::early})
    EXPECT_EQ(read_around_a_load(loads, Lacks::nothing).second, 2);
  EXPECT_EQ(read_around_a_load(Loads::late, Lacks::steps_behind_loads).second, 1)
      << "or this test sees nothing";
}

/// Sizes: of a few bytes, of a half and one more, of three halves.
bool pieces_arrive(Lacks lacks) {
  LateGpu gpu(Loads::late, lacks);
  bool right = true;
  {
    const Backend b = cuda_backend();
    for (const size_t bytes : {size_t(5), kLoadHalf, kLoadHalf + 1, 3 * kLoadHalf - 7}) {
      std::vector<uint8_t> from(bytes), back(bytes);
      for (size_t i = 0; i < bytes; ++i) from[i] = uint8_t(i * 31 + i / kLoadHalf * 7 + bytes);
      void* const p = b.alloc(bytes, "picture");
      b.load(p, from.data(), bytes);
      const std::vector<uint8_t> sent = from;
      std::ranges::fill(from, 0);  // the source may change at once
      b.loaded();
      b.download(back.data(), p, bytes);
      right = right && back == sent;
      b.free(p, bytes);
    }
  }
  EXPECT_EQ(gpu.freed_in_flight, 0);
  return right;
}

TEST(LoadingStream, SplitsLoadsLargerThanAHalf) {
  EXPECT_TRUE(pieces_arrive(Lacks::nothing));
  EXPECT_FALSE(pieces_arrive(Lacks::half_wait)) << "a half is filled anew while it is on its way";
}

TEST(LoadingStream, TheHostWaitsWhenItIsTwoCopiesAhead) {
  LateGpu gpu(Loads::late);
  {
    const Backend b = cuda_backend();
    std::vector<uint8_t> picture(1000, 3);
    void* const p = b.alloc(4 * picture.size(), "pictures");
    const auto load = [&](size_t which) {
      return b.load(static_cast<char*>(p) + which * picture.size(), picture.data(), picture.size());
    };
    EXPECT_EQ(load(0), 0);
    EXPECT_EQ(load(1), 0);
    EXPECT_EQ(gpu.host_waits, 0) << "two turns ahead";
    EXPECT_EQ(load(2), 1);
    EXPECT_EQ(load(3), 1);
    b.loaded();
    b.wait();
    EXPECT_EQ(load(0), 0) << "both are through";
    EXPECT_EQ(gpu.host_waits, 2);
  }
  EXPECT_EQ(gpu.freed_in_flight, 0) << "page-locked memory is given back when nothing reads it";
}

TEST(LoadingStream, WithoutASecondStreamCopiesAreInOrder) {
  EXPECT_FALSE(cpu_backend().load) << "in the host's memory there is nothing to load";
  const Backend b = simt_backend();
  void* const p = b.alloc(8, "picture");
  const int64_t value = 77;
  int64_t back = 0;
  EXPECT_EQ(b.load(p, &value, sizeof value), 0);
  b.download(&back, p, sizeof back);
  EXPECT_EQ(back, 77);
  b.free(p, 8);
}

TEST(LoadingStream, TheHostExecutorCountsLoadsOnItsBus) {
  simt::Session session({.traced = true, .counts = false});
  const Backend b = simt_backend();
  std::vector<uint8_t> host(4000, 1);
  void* const p = b.alloc(host.size(), "picture");
  b.upload(p, host.data(), 1000);
  b.load(p, host.data(), 4000);
  b.download(host.data(), p, 3000);  // while the load goes up
  EXPECT_EQ(session.profile().bus.bytes(), 8000);
  EXPECT_EQ(session.profile().bus.path(), 5000);
  b.loaded();
  b.download(host.data(), p, 10);
  EXPECT_EQ(session.profile().bus.path(), 5010);
  b.free(p, host.size());
}

/// Pictures that take turns, a few at a time.
struct Turning {
  explicit Turning(const std::string& backend, int64_t resident = 3)
      : config(tiny_config()),
        where(backend_named(backend)),
        plan(Plan::named("naive", training_calls(config, 1), times, where.ladder)),
        pool(small_scene().train, {.resident = resident, .ahead = 3, .seed = 7}) {}
  void make() { trainer.emplace(small_scene(), config, plan, 5, where.backend, where.sizes, &pool); }
  /// When the pictures of the next turns are read, so that nothing hangs on how fast that is.
  StepReport step() {
    for (int64_t k = 0; k < 3; ++k)
      while (!pool.coming(pool.turns() + k)) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return trainer->step(0);
  }

  Config config;
  CallTimes times = later_is_faster();
  BackendChoice where;
  Plan plan;
  PicturePool pool;
  std::optional<Trainer> trainer;
};

constexpr int kSteps = 42, kTurns = kSteps / PictureTurns::kEvery;

/// With a stream for loads, or with uploads in the order of the calls.
std::vector<double> losses_on_simt(bool loads) {
  Turning t("simt");
  if (!loads) t.where.backend.load = nullptr;
  if (!loads) t.where.backend.loaded = nullptr;
  t.make();
  std::vector<double> losses;
  for (int i = 0; i < kSteps; ++i) losses.push_back(t.step().loss);
  return losses;
}

/// Run in place of draw_rays: returns whether each view's camera has its whole picture at its place.
bool pictures_are_whole(ShapeView shape, std::span<void* const> p) {
  const auto* const cameras = static_cast<const float*>(p[3]);
  const auto* const places = static_cast<const int64_t*>(p[4]);
  const auto* const image = static_cast<const uint8_t*>(p[6]);
  for (int64_t i = 0; i < shape[1]; ++i) {
    const auto of_camera = [&](const View& v) {
      return std::equal(v.camera.pose.begin(), v.camera.pose.end(), cameras + 20 * i + 8);
    };
    const auto view = std::ranges::find_if(small_scene().train, of_camera);
    if (view == small_scene().train.end()) return false;
    const std::vector<uint8_t>& rgba = view->image.rgba;
    if (!std::equal(rgba.begin(), rgba.end(), image + 4 * places[DrawRays::kPlace * i + 2])) return false;
  }
  return true;
}

struct Watched {
  std::vector<double> losses;
  int64_t draws = 0, torn = 0;            // calls of draw_rays; those that saw an incomplete picture
  int64_t waits = 0;                      // of the host for loads, behind the first pictures
  int64_t loads_at_turns = 0, ahead = 0;  // given in a step with a turn and in others, behind the first
};

Watched watched(Loads loads, Lacks lacks) {
  LateGpu gpu(loads, lacks);
  Turning t("cuda");
  Watched w;
  gpu.compile(t.plan, [&](const Variant& v, ShapeView shape, std::span<void* const> p) {
    if (v.op != "draw_rays") return;
    ++w.draws;
    w.torn += pictures_are_whole(shape, p) ? 0 : 1;
  });
  t.make();
  const int64_t first_waits = gpu.host_waits;
  for (int i = 0; i < kSteps; ++i) {
    const int64_t before = gpu.loads, turns = t.pool.turns();
    w.losses.push_back(t.step().loss);
    (t.pool.turns() > turns ? w.loads_at_turns : w.ahead) += gpu.loads - before;
  }
  w.waits = gpu.host_waits - first_waits;
  EXPECT_EQ(gpu.loads, 3 + kTurns + PictureTurns::kLoaded) << "each picture once, and two turns ahead";
  t.trainer.reset();
  return w;
}

TEST(LoadingStream, TrainingOnARotatingPoolIsTheSameToTheBit) {
  const std::vector<double> expected = losses_on_simt(false);
  EXPECT_EQ(losses_on_simt(true), expected);
  for (const Loads loads : {Loads::late, Loads::early}) {
    const Watched w = watched(loads, Lacks::nothing);
    EXPECT_EQ(w.losses, expected);
    EXPECT_EQ(w.draws, kSteps);
    EXPECT_EQ(w.torn, 0);
    if (loads == Loads::early) EXPECT_EQ(w.waits, 0);
  }
}

/// With enough pictures that the data on all of them is more than a small upload.
TEST(LoadingStream, RotatingThePoolDoesNotBlockTheHost) {
  LateGpu gpu(Loads::early);
  const int64_t resident = int64_t(small_scene().train.size()) - 2;
  ASSERT_GT(size_t(20 * resident) * sizeof(float), Backend::kStaged);
  Turning t("cuda", resident);
  gpu.compile(t.plan, [](const Variant&, ShapeView, std::span<void* const>) {});
  t.make();
  const int64_t uploads = gpu.uploads, waits = gpu.host_waits;
  for (int i = 0; i < 20; ++i) t.step();
  EXPECT_EQ(t.pool.turns(), 2);
  EXPECT_EQ(gpu.uploads, uploads);
  EXPECT_EQ(gpu.host_waits, waits);
}

TEST(LoadingStream, DetectsAStepThatDoesNotWaitForItsPictures) {
  const Watched w = watched(Loads::late, Lacks::steps_behind_loads);
  EXPECT_GT(w.torn, 0);
}

TEST(LoadingStream, PicturesLoadBeforeTheirTurn) {
  const Watched w = watched(Loads::early, Lacks::nothing);
  EXPECT_EQ(w.loads_at_turns, kTurns) << "at each turn the one after next";
  EXPECT_EQ(w.ahead, PictureTurns::kLoaded) << "in the first steps";
}

TEST(LoadingStream, AFailedLoadEndsTheStepWithTheDevicesError) {
  LateGpu gpu(Loads::late);
  Turning t("cuda");
  gpu.compile(t.plan, [](const Variant&, ShapeView, std::span<void* const>) {});
  t.make();
  for (int i = 0; i < 3; ++i) t.step();
  gpu.load_fails = "cudaErrorLaunchFailure: unspecified launch failure in cudaMemcpyAsync of a load";
  std::string end;
  int steps = 3;
  try {
    for (; steps < 20; ++steps) t.step();
  } catch (const std::runtime_error& e) {
    end = e.what();
  }
  EXPECT_EQ(end, gpu.load_fails);
  EXPECT_EQ(steps, PictureTurns::kEvery) << "where the next one is loaded";
}

TEST(GpuOutOfMemory, IsABadAllocWithTheDevicesError) {
  EXPECT_NO_THROW(require_allocated(nullptr));
  try {
    require_allocated("cudaErrorMemoryAllocation: out of memory in cudaMalloc(p, bytes)");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::bad_alloc& e) {
    EXPECT_STREQ(e.what(), "cudaErrorMemoryAllocation: out of memory in cudaMalloc(p, bytes)");
  }
  EXPECT_THROW(require_allocated("cudaErrorIllegalAddress: an illegal memory access in cudaMalloc"),
               std::runtime_error);
}

/// The rule of the processor's allocations: the batch is halved, and the training continues.
TEST(GpuOutOfMemory, HalvesTheBatchAndContinues) {
  LateGpu gpu(Loads::early);
  Turning t("cuda");
  gpu.compile(t.plan, [](const Variant&, ShapeView, std::span<void* const>) {});
  std::vector<std::string> said;
  Shortage shortage([&](const std::string& text) { said.push_back(text); });
  const auto made = [&](int64_t samples) {
    t.config.batch_samples = samples;
    t.make();
    return gpu.in_use;
  };
  const size_t half = made(4096);
  t.trainer.reset();
  EXPECT_EQ(gpu.in_use, 0U);
  gpu.room = half;
  EXPECT_EQ(shortage.made(8192, made), half);
  EXPECT_EQ(t.trainer->batch_samples(), 4096);
  EXPECT_EQ(shortage.failures(), 1);
  const double first = t.step().loss;
  // An additional allocation in the middle of the training fails.
  bool refused = false;
  const StepReport report = shortage.through(*t.trainer, [&] {
    if (!std::exchange(refused, true)) gpu.gpu.alloc(half);
    return t.step();
  });
  EXPECT_EQ(report.step, 2);
  EXPECT_EQ(t.trainer->batch_samples(), 2048);
  EXPECT_EQ(said.size(), 2U);
  double last = 0;
  for (int i = 0; i < 20; ++i) last = t.step().loss;
  EXPECT_LT(last, first);
}

}  // namespace
}  // namespace klab
