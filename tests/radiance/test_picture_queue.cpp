// Many views through one queue are the pictures that are rendered one by one, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "labs/radiance/evaluate/picture_queue.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

class PictureQueue : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Trainer trainer(small_scene(), small_config(), small_plan(), 2);
    for (int i = 0; i < 60; ++i) trainer.step(0);
    model = std::make_unique<Model>(trainer.averaged());
    for (int i = 0; i < 7; ++i) {
      const float angle = 0.9F * float(i);
      const Vec3 eye{0.5F + std::cos(angle), 0.5F + std::sin(angle), 1};
      cameras.push_back(look_at(eye, {0.5F, 0.5F, 0.4F}, 60 + 7 * i, 41, 0.8F));
    }
  }
  static void TearDownTestSuite() { model.reset(); }
  static std::unique_ptr<Model> model;
  static std::vector<Camera> cameras;
};
std::unique_ptr<Model> PictureQueue::model;
std::vector<Camera> PictureQueue::cameras;

TEST_F(PictureQueue, DeliversTheSamePictures) {
  for (const int64_t pixels : {int64_t{500}, Renderer::kRays}) {
    Renderer one(*model, small_plan(), pixels);
    std::vector<Picture> expected;
    for (const Camera& c : cameras) expected.push_back(one.render(c));
    double dark = 0;
    for (const float v : expected[3].rgb) dark += v < 0.9F;
    EXPECT_GT(dark, 100) << "there is something to see";
    for (const int workers : {1, 2, 3}) {
      std::mutex mutex;
      std::set<size_t> done;
      const auto check = [&](size_t i, const Picture& p) {
        const std::scoped_lock lock(mutex);
        EXPECT_TRUE(done.insert(i).second) << i;
        EXPECT_EQ(p.width, cameras[i].width);
        EXPECT_EQ(p.rgb, expected[i].rgb) << i << ", " << workers << " workers, " << pixels << " pixels";
        EXPECT_EQ(p.opacity, expected[i].opacity) << i;
        EXPECT_EQ(p.depth, expected[i].depth) << i;
      };
      render_all(*model, small_plan(), cameras, {.workers = workers, .pixels = pixels}, check);
      EXPECT_EQ(done.size(), cameras.size());
    }
  }
}

TEST_F(PictureQueue, RethrowsTheExceptionOfAWorker) {
  int calls = 0;
  std::mutex mutex;
  const auto full = [&](size_t, const Picture&) {
    const std::scoped_lock lock(mutex);
    if (++calls == 2) throw std::runtime_error("the disk is full");
  };
  try {
    render_all(*model, small_plan(), cameras, {.workers = 2, .pixels = 500}, full);
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "the disk is full");
  }
  EXPECT_LT(calls, int(cameras.size()));
  render_all(*model, small_plan(), {}, {}, full);
  EXPECT_LT(calls, int(cameras.size()));
}

}  // namespace
}  // namespace klab
