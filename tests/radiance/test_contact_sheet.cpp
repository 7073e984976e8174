// What an evaluation leaves to look at: the contact sheet, and the cameras for the plot of the report.
// ctest: sanitized
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "harness/records/atomic_file.h"
#include "harness/report/camera_plot.h"
#include "labs/radiance/run/camera_list.h"
#include "labs/radiance/run/contact_sheet.h"
#include "labs/radiance/scene/image.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class ContactSheets : public testing::Test {
 protected:
  const TempFolder folder_;
};

View view_from(Vec3 eye, int width, int height) {
  View view;
  view.name = "red";
  view.camera = look_at(eye, {0.5F, 0.5F, 0.5F}, width, height, 0.8F);
  view.image = {.width = width, .height = height, .rgba = {}};
  for (int i = 0; i < width * height; ++i) view.image.rgba.insert(view.image.rgba.end(), {255, 0, 0, 255});
  return view;
}

/// A blue picture whose left half is near.
Picture blue_picture(int width, int height) {
  Picture p{.width = width, .height = height, .rgb = {}, .opacity = {}, .depth = {}};
  for (int i = 0; i < width * height; ++i) {
    p.rgb.insert(p.rgb.end(), {0, 0, 1});
    p.opacity.push_back(1);
    p.depth.push_back(i % width < width / 2 ? 1.0F : 2.0F);
  }
  return p;
}

ViewScore score_of_view(int64_t view, double psnr) { return {.view = view, .name = "red", .psnr = psnr}; }

std::array<int, 3> color_at(const Image& image, int x, int y) {
  const uint8_t* p = image.at(x, y);
  return {p[0], p[1], p[2]};
}

TEST_F(ContactSheets, ShowTruthRenderedDepthAndError) {
  ContactSheet sheet({1, 3, 5});
  EXPECT_TRUE(sheet.empty());
  sheet.add(view_from({2, 0.5F, 1}, 40, 20), blue_picture(40, 20), score_of_view(2, 12), false);
  EXPECT_TRUE(sheet.empty()) << "a view that was not chosen";
  sheet.add(view_from({2, 0.5F, 1}, 800, 400), blue_picture(800, 400), score_of_view(5, 21.46), false);
  sheet.add(view_from({2, 0.5F, 1}, 40, 20), blue_picture(40, 20), score_of_view(3, INFINITY), false);
  const fs::path file = folder_ / "sheet.png";
  sheet.save(file);
  const Image image = load_image(file);
  EXPECT_EQ(image.width, 4 + 4 * (200 + 4));
  EXPECT_EQ(image.height, 4 + 20 + 4 + 100 + 4);
  EXPECT_EQ(color_at(image, 0, 0), color_at(image, image.width - 1, image.height - 1)) << "the gray behind";
  struct Tiles {
    int top, width, height;
  };
  for (const Tiles& row : {Tiles{4, 40, 20}, Tiles{28, 200, 100}}) {  // in the order of the views
    const auto at = [&](int tile, double share) {
      return color_at(image, 4 + 204 * tile + int(share * row.width), row.top + row.height / 2);
    };
    EXPECT_EQ(at(0, 0.5), (std::array{255, 0, 0})) << "truth";
    EXPECT_EQ(at(1, 0.5), (std::array{0, 0, 255})) << "rendered";
    EXPECT_EQ(at(2, 0.25), (std::array{255, 255, 255})) << "near";
    EXPECT_LT(at(2, 0.75)[0], 60) << "far";
    EXPECT_EQ(at(3, 0.5), (std::array{255, 255, 255})) << "two of three colors are wrong by 1";
  }
  EXPECT_NE(sheet.legend().find("test views 3 (equal), 5 (21.5 dB)"), std::string::npos) << sheet.legend();
  EXPECT_EQ(sheet.legend().find('\n'), std::string::npos);
  EXPECT_THROW(sheet.save(folder_ / "none" / "sheet.png"), FileError);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "nothing else is left behind";
}

TEST_F(ContactSheets, SpreadTheirRowsOverTheViews) {
  const ContactSheet sheet({0, 2, 4, 6, 8, 10, 12, 14, 16});
  std::vector<int64_t> rows;
  for (int64_t v = 0; v < 20; ++v)
    if (sheet.wants(v)) rows.push_back(v);
  EXPECT_EQ(rows, (std::vector<int64_t>{0, 4, 8, 12}));
  EXPECT_FALSE(ContactSheet().wants(0));
}

TEST_F(ContactSheets, CamerasOfARunAreThoseOfItsReport) {
  Scene scene;
  for (const float x : {1.5F, 1.75F}) scene.train.push_back(view_from({x, 0.5F, 1}, 4, 4));
  for (const float x : {2.0F, 2.25F, 2.5F, 2.75F, 3.0F}) scene.test.push_back(view_from({x, 0.5F, 1}, 4, 4));
  scene.test[1].name = "<b>";
  const fs::path file = folder_ / "cameras.json";
  write_file(file,
             cameras_json(scene, {0, 1, 3, 4},
                          {score_of_view(0, 30), score_of_view(1, 20.1234), score_of_view(3, INFINITY)}));
  const auto plot = read_cameras(file);
  ASSERT_TRUE(plot.has_value());
  ASSERT_EQ(plot->train.size(), 2U);
  ASSERT_EQ(plot->test.size(), 5U);
  EXPECT_EQ(plot->train[1].position[0], 1.75);
  EXPECT_LT(plot->train[1].direction[0], 0) << "it sees towards the middle";
  EXPECT_EQ(plot->test[1].psnr, 20.123);
  EXPECT_EQ(plot->test[3].psnr, std::nullopt) << "an equal picture has no finite PSNR";
  const std::vector<std::string> pictures = {"test_0.png", "test_1.png", "", "test_2.png", ""};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(plot->test[i].picture, pictures[i]);
  EXPECT_EQ(poorest_views(*plot), (std::vector<size_t>{1})) << "at most half of those with a score";
  const std::string html = cameras_html(*plot);
  const auto count = [&](const std::string& what) {
    int n = 0;
    for (size_t at = html.find(what); at != std::string::npos; at = html.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<svg"), 2);
  EXPECT_EQ(count("class=\"train\""), 4);
  EXPECT_EQ(count("class=\"test\""), 10);
  EXPECT_EQ(count("class=\"poor\""), 2);
  EXPECT_EQ(count("<b>"), 0);
  EXPECT_FALSE(read_cameras(folder_ / "none.json").has_value());
}

TEST_F(ContactSheets, BrokenCamerasAreRefusedByFileAndField) {
  const std::string camera = R"({"name": "a", "position": [1, 2, 3], "direction": [0, 0, 1]})";
  const std::string box = R"({"box": {"low": [0, 0, 0], "high": [1, 1, 1]}, )";
  const fs::path file = folder_ / "cameras.json";
  const auto message_of = [&](const std::string& text) -> std::string {
    std::ofstream(file) << text;
    try {
      read_cameras(file);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message_of(box + R"("train": [], "test": []})"), "accepted");
  for (const auto& [text, field] :
       {std::pair<std::string, std::string>{box + R"("train": []})", "test: is missing"},
        {R"({"train": [], "test": []})", "box: is missing"},
        {box + R"("train": 3, "test": []})", "train: is no list"},
        {box + R"("train": [], "test": [)" + camera + ", 3]}", "test[1].name: is missing"},
        {box + R"("test": [], "train": [{"name": "a", "position": [1, 2]}]})",
         "train[0].position: is not three numbers"},
        {box + R"("test": [], "train": [{"name": "a", "position": [1, 2, 1e99]}]})",
         "train[0].position: is not three numbers"},
        {"[]", "box: is missing"}}) {
    const std::string message = message_of(text);
    EXPECT_NE(message.find(file.string() + ": " + field), std::string::npos) << message;
    EXPECT_NE(message.find("delete this file"), std::string::npos) << message;
  }
  EXPECT_NE(message_of(box).find(file.string()), std::string::npos);
}

}  // namespace
}  // namespace klab
