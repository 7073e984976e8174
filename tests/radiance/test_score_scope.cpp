// What of a scene's test views a run scores: size, number and order within a time, and the words about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "labs/radiance/run/evaluation.h"
#include "labs/radiance/run/score_scope.h"
#include "tests/radiance/scene_folder.h"

namespace klab {
namespace {

View view_of(int width, int height) {
  View view;
  view.camera.width = width, view.camera.height = height;
  view.camera.fx = view.camera.fy = float(width), view.camera.cx = 0.5F * float(width),
  view.camera.cy = 0.5F * float(height);
  view.image = {.width = width,
                .height = height,
                .rgba = std::vector<uint8_t>(size_t(4) * size_t(width) * size_t(height), 100)};
  return view;
}

std::vector<View> views_of_size(size_t count, int width, int height) {
  return {count, view_of(width, height)};
}

Picture gray_picture(const Camera& camera) {
  Picture out = Renderer::empty_picture(camera);
  std::ranges::fill(out.rgb, 0.25F);
  return out;
}

TEST(ScoreScope, ReadsAllOrSeconds) {
  EXPECT_EQ(score_seconds_from("all"), kScoreAll);
  EXPECT_EQ(score_seconds_from("2.5"), 2.5);
  for (const double seconds : {kScoreAll, 2.5, 60.0})
    EXPECT_EQ(score_seconds_from(score_text(seconds)), seconds);
  for (const char* bad : {"", "quick", "0", "-1", "nan", "inf", "60s", "1e12"}) {
    try {
      score_seconds_from(bad);
      ADD_FAILURE() << bad;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("--score"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("for example 60"), std::string::npos) << e.what();
    }
  }
}

TEST(ScoreScope, MakesOnlyLargeViewsSmaller) {
  std::vector<View> test = {view_of(1700, 900), view_of(800, 600)};
  const ScoreScope scope = begin_scope(test, 60);
  EXPECT_EQ(scope.reduced, 3);
  EXPECT_EQ(test[0].camera.width, 566);
  EXPECT_EQ(test[0].camera.height, 300);
  EXPECT_EQ(test[0].image.width, 566);
  EXPECT_FLOAT_EQ(test[0].camera.fx, 1700.0F / 3);
  EXPECT_EQ(test[1].camera.width, 800);
  std::vector<View> whole = {view_of(1700, 900)};
  EXPECT_EQ(begin_scope(whole, kScoreAll).reduced, 1);
  EXPECT_EQ(whole[0].camera.width, 1700);
}

// A pixel of the smaller view counts if all that it is the mean of counted.
TEST(ScoreScope, KeepsPixelsOfWhichAllPartsCount) {
  View view = view_of(32, 32);
  std::vector<int32_t> list;
  for (int32_t i = 0; i < 32 * 32; ++i)
    if (i != 5 * 32 + 9) list.push_back(i);
  view.with_ray = std::make_shared<const std::vector<int32_t>>(list);
  reduce_view(view, 2);
  ASSERT_EQ(view.with_ray->size(), 16 * 16 - 1U);
  EXPECT_FALSE(std::ranges::binary_search(*view.with_ray, 2 * 16 + 4));
}

// A picture that is still on the disk gives the pixels that one in memory gives.
using ScoreScopeOnDisk = SceneFolder;
TEST_F(ScoreScopeOnDisk, ReadsThePicturesOfReducedViewsLater) {
  for (int i = 0; i < 4; ++i) picture("view_" + std::to_string(i) + ".png", 64, 48, 4);
  write();
  Scene later = load_scene(path.string(), {.pictures = SceneOptions::Pictures::on_disk}), now = load();
  reduce_view(later.test.front(), 3);
  reduce_view(now.test.front(), 3);
  EXPECT_TRUE(later.test.front().image.rgba.empty());
  EXPECT_EQ(later.test.front().picture().rgba, now.test.front().image.rgba);
  EXPECT_EQ(now.test.front().image.width, 21);
  EXPECT_GE(later.test.front().source->bytes_to_read, 4 * 64 * 48);
}

TEST(ScoreScope, TakesFewerViewsThenSmallerOnes) {
  const double pixel = 1e-6;  // 25 views of 400 x 400: 4 s
  const auto chosen = [&](double seconds) {
    std::vector<View> test = views_of_size(25, 400, 400);
    ScoreScope scope = begin_scope(test, seconds);
    choose_views(scope, test, pixel);
    EXPECT_EQ(scope.width, test.front().camera.width);
    EXPECT_NEAR(scope.expected, pixel * double(scope.views.size()) * double(test.front().pixels()), 1e-9);
    return scope;
  };
  const ScoreScope every = chosen(60), some = chosen(3), small = chosen(1), least = chosen(1e-3);
  EXPECT_EQ(every.views.size(), 25U);
  EXPECT_EQ(every.width, 400);
  EXPECT_EQ(some.views.size(), 13U);
  EXPECT_EQ(some.width, 400);
  EXPECT_LE(some.expected, 3);
  EXPECT_EQ(small.width, 200);
  EXPECT_EQ(small.reduced, 2);
  EXPECT_LE(small.expected, 1);
  EXPECT_GE(least.width, 64) << "and the time ends it";
  EXPECT_GE(least.views.size(), 8U);
}

// The first views of the order are spread over the scene, so that a score that ends early is about all of it.
TEST(ScoreScope, SpreadsEachBeginningOfItsOrder) {
  std::vector<View> test = views_of_size(21, 16, 16);
  const ScoreScope scope = begin_scope(test, 60);
  EXPECT_EQ(std::set<int64_t>(scope.views.begin(), scope.views.end()).size(), 21U);
  EXPECT_EQ(scope.views.size(), 21U);
  std::vector<int64_t> four(scope.views.begin(), scope.views.begin() + 4);
  std::ranges::sort(four);
  EXPECT_LE(four[0], 3);
  for (size_t i = 1; i < 4; ++i) EXPECT_GE(four[i] - four[i - 1], 3);
  EXPECT_GE(four[3], 12);
  const ScoreScope first = part_of(scope, 0, 2), second = part_of(scope, 1, 2);
  EXPECT_EQ(first.views.size() + second.views.size(), 21U);
  EXPECT_NE(first.views.front(), second.views.front());
}

TEST(ScoreScope, EndsWhenItsTimeIsOverAndSaysHowManyWereScored) {
  std::vector<View> test = views_of_size(12, 16, 16);
  ScoreScope scope = begin_scope(test, 1e-3);
  const auto slow = [](const Camera& camera) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (std::chrono::steady_clock::now() < until) {
    }
    return gray_picture(camera);
  };
  std::vector<ViewScore> scores = score_views(slow, false, test, scope, {});
  ASSERT_EQ(scores.size(), 1U);
  Score score = score_of(std::move(scores), scope.width, scope.height, false, scored_by(scope));
  EXPECT_TRUE(score.protocol.starts_with("mean over 1 evenly spread of 12 test views")) << score.protocol;
  scope.seconds = kScoreAll;
  score = score_of(score_views(slow, false, test, scope, {}), 16, 16, false, scored_by(scope));
  EXPECT_TRUE(score.protocol.starts_with("mean over all 12 test views of each")) << score.protocol;
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(score.views[i].view, int64_t(i));
}

TEST(ScoreScope, ProtocolNamesTheSizeThatWasScored) {
  std::vector<View> test = views_of_size(2, 1600, 64);
  const ScoreScope scope = begin_scope(test, 60);
  const Score score = score_of(score_views(gray_picture, true, test, scope, {}), scope.width, scope.height,
                               true, scored_by(scope));
  EXPECT_NE(score.protocol.find("800x32 (reduced by 2 from 1600x64), on black"), std::string::npos)
      << score.protocol;
}

TEST(ScoreScope, AnnouncesSizeTimeAndTheCostOfAll) {
  std::vector<View> test = views_of_size(25, 1600, 1600);
  ScoreScope scope = begin_scope(test, 11);
  choose_views(scope, test, 1e-6);
  const std::string text = scope_text(scope, 1e-6);
  EXPECT_EQ(text,
            "scoring   13 of 25 test views at 800x800, about 8 s, at most 11 s, after the training\n"
            "          --score all takes all 25 at 1600x1600, about 64 s\n");
  test = views_of_size(25, 100, 100);
  scope = begin_scope(test, kScoreAll);
  choose_views(scope, test, 1e-4);
  EXPECT_EQ(scope_text(scope, 1e-4),
            "scoring   all 25 test views at 100x100, about 25 s, after the training\n");
}

// Pictures of rising size are made until one takes long enough; the camera's own size is the last.
TEST(ScoreScope, TimesPicturesOfRisingSize) {
  std::vector<int> widths;
  const auto render = [&](const Camera& camera) {
    widths.push_back(camera.width);
    return gray_picture(camera);
  };
  View view = view_of(64, 32);
  EXPECT_GT(seconds_per_pixel(render, view.camera), 0);
  ASSERT_FALSE(widths.empty());
  EXPECT_EQ(widths.front(), 8);
  for (size_t i = 1; i < widths.size(); ++i) EXPECT_EQ(widths[i], 2 * widths[i - 1]);
  EXPECT_LE(widths.back(), 64);
}

}  // namespace
}  // namespace klab
