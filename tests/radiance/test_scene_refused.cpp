// Scenes that are refused, each with a message that names the file, the field and the remedy.
// ctest: sanitized
#include <gtest/gtest.h>
#include <png.h>
#include <sys/stat.h>

#include <functional>

#include "tests/radiance/scene_folder.h"

namespace klab {
namespace {

using RefusedFolder = SceneFolder;

TEST_F(RefusedFolder, TruncatedPictureIsNamed) {
  write();
  fs::resize_file(path / "view_3.png", fs::file_size(path / "view_3.png") / 2);
  EXPECT_NE(error().find("view_3.png"), std::string::npos) << error();
}

TEST_F(RefusedFolder, NoImageAtAllIsNamed) {
  write();
  std::ofstream(path / "view_0.png") << "this is text";
  EXPECT_NE(error().find("neither PNG nor JPEG"), std::string::npos) << error();
  std::ofstream(path / "view_0.png", std::ios::trunc).flush();
  EXPECT_NE(error().find("is empty"), std::string::npos) << error();
}

TEST_F(RefusedFolder, PicturesOfOtherFormatsAreCalledByTheirs) {
  write();
  for (const auto& [bytes, kind, remedy] : std::vector<std::array<std::string, 3>>{
           {std::string("RIFF\x20\0\0\0WEBPVP8 ", 16), "a WebP picture", "convert it to PNG or JPEG"},
           {std::string("\0\0\0\x18"
                        "ftypheic\0\0\0\0",
                        16),
            "a HEIC picture", "convert it to PNG or JPEG"},
           {"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS", "git lfs pull"},
           {"<!DOCTYPE html><html>", "a page of HTML", "download the file again"}}) {
    std::ofstream(path / "view_1.png", std::ios::binary) << bytes;
    EXPECT_NE(error().find("view_1.png: its format is neither PNG nor JPEG: it is " + kind),
              std::string::npos)
        << error();
    EXPECT_NE(error().find(remedy), std::string::npos) << error();
  }
}

TEST_F(RefusedFolder, PicturesUnderAnotherNameAreNamed) {
  fs::create_directories(path / "images");
  for (int i = 0; i < 4; ++i) {
    const std::string name = "view_" + std::to_string(i) + ".png";
    fs::rename(path / name, path / "images" / name);
    document["frames"][size_t(i)]["file_path"] = name;  // without the folder
  }
  write();
  EXPECT_NE(error().find("\"view_0.png\" is no file, and images/view_0.png lies here"), std::string::npos)
      << error();
  for (json& frame : document["frames"])
    frame["file_path"] = "images/VIEW_" + std::string(frame["file_path"]).substr(5);
  write();
  EXPECT_NE(error().find("\"images/VIEW_0.png\" is no file, and images/view_0.png lies here"),
            std::string::npos)
      << error();
  EXPECT_NE(error().find("write \"file_path\" below this folder"), std::string::npos) << error();
}

TEST_F(RefusedFolder, TruncatedJsonIsAnErrorAtEveryLength) {
  const std::string whole = document.dump();
  for (size_t length = 0; length < whole.size(); length += 1 + whole.size() / 60) {
    std::ofstream(path / "transforms_train.json") << whole.substr(0, length);
    EXPECT_NE(error().find("transforms_train.json"), std::string::npos) << "cut at " << length;
  }
}

struct Wrong {
  const char* name;
  std::function<void(json&)> change;
  const char* says;
};
void PrintTo(const Wrong& w, std::ostream* out) { *out << w.says; }

class WrongField : public RefusedFolder, public ::testing::WithParamInterface<Wrong> {};

TEST_P(WrongField, IsNamed) {
  GetParam().change(document);
  write();
  const std::string message = error();
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
  EXPECT_NE(message.find("transforms_train.json"), std::string::npos) << message;
}

json& matrix(json& d) { return d["frames"][1]["transform_matrix"]; }

INSTANTIATE_TEST_SUITE_P(
    Scenes, WrongField,
    ::testing::
        Values(
            Wrong{"rows", [](json& d) { matrix(d).erase(3); }, "does not have 4 rows"},
            Wrong{"columns", [](json& d) { matrix(d)[1].erase(0); }, "row 1 does not have 4 numbers"},
            Wrong{"text", [](json& d) { matrix(d)[0][0] = "one"; }, "[0][0] is not a number"},
            Wrong{"null_is_nan", [](json& d) { matrix(d)[0][0] = std::nan(""); }, "[0][0] is not a number"},
            Wrong{"huge", [](json& d) { matrix(d)[0][3] = 1e300; }, "[0][3] is not finite, or not"},
            Wrong{"scaled", [](json& d) { matrix(d)[0][0] = 5.0; }, "not rigid"},
            Wrong{"mirrored",
                  [](json& d) {
                    for (auto& row : matrix(d)) row[1] = -row[1].get<double>();
                  },
                  "mirrors"},
            Wrong{"transposed",
                  [](json& d) {
                    const json rows = matrix(d);
                    for (size_t r = 0; r < 4; ++r)
                      for (size_t c = 0; c < 4; ++c) matrix(d)[r][c] = rows[c][r];
                  },
                  "it is transposed: exchange its rows and columns"},
            Wrong{"last_row", [](json& d) { matrix(d)[3][0] = 1.0; }, "last row"},
            Wrong{"no_matrix", [](json& d) { d["frames"][1].erase("transform_matrix"); }, "transform_matrix"},
            Wrong{"no_frames", [](json& d) { d.erase("frames"); }, "\"frames\""},
            Wrong{"frames_text", [](json& d) { d["frames"] = "all"; }, "\"frames\""},
            Wrong{"frames_empty", [](json& d) { d["frames"] = json::array(); }, "empty"},
            Wrong{"frame_number", [](json& d) { d["frames"][0] = 7; }, "file_path"},
            Wrong{"zero_angle", [](json& d) { d["camera_angle_x"] = 0; }, "camera_angle_x"},
            Wrong{"wide_angle", [](json& d) { d["camera_angle_x"] = 3.2; }, "from 0.001 to 3.1"},
            Wrong{"center_far_away", [](json& d) { d["cx"] = -5000; }, "\"cx\" must be a number from"},
            Wrong{"center_beyond_floats", [](json& d) { d["cx"] = 1e39; }, "\"cx\""},
            Wrong{"lens_of_no_glass", [](json& d) { d["k2"] = -1e20; },
                  "\"k2\" must be a number from -100 to 100"},
            Wrong{"tangential", [](json& d) { d["frames"][2]["p2"] = 7; }, "\"p2\""},
            Wrong{"huge_scale", [](json& d) { d["scale"] = 1e30; }, "\"scale\""},
            Wrong{"scale_of_nothing", [](json& d) { d["scale"] = 1e-300; }, "\"scale\""},
            Wrong{"huge_focal", [](json& d) { d["fl_x"] = 1e30; }, "\"fl_x\""},
            Wrong{"focal_of_nothing", [](json& d) { d["fl_x"] = 1e-300; }, "\"fl_x\""},
            Wrong{"huge_offset",
                  [](json& d) {
                    d["offset"] = {1e30, 0, 0};
                  },
                  "offset[0]"},
            Wrong{"name_with_a_zero", [](json& d) { d["frames"][1]["file_path"] = std::string("a\0b", 3); },
                  "file_path"},
            Wrong{"angle_text", [](json& d) { d["camera_angle_x"] = "wide"; }, "camera_angle_x"},
            Wrong{"negative_focal", [](json& d) { d["fl_x"] = -3; }, "fl_x"},
            Wrong{"no_focal", [](json& d) { d.erase("camera_angle_x"); }, "no focal length"},
            Wrong{"zero_width", [](json& d) { d["w"] = 0; }, "\"w\""},
            Wrong{"unknown_model", [](json& d) { d["camera_model"] = "FOV"; }, "'FOV' (known are"},
            Wrong{"latlong", [](json& d) { d["latlong"] = true; }, "latlong"},
            Wrong{"equirectangular_frame", [](json& d) { d["frames"][2]["equirectangular"] = true; },
                  "undistort"},
            Wrong{"third_radial", [](json& d) { d["k3"] = 0.01; }, "k3"},
            Wrong{"aabb_scale", [](json& d) { d["aabb_scale"] = 3; }, "power of two"},
            Wrong{
                "offset",
                [](json& d) {
                  d["offset"] = json::array({1, 2});
                },
                "offset"}),
    [](const auto& wrong) { return wrong.param.name; });

TEST_F(RefusedFolder, CamerasFarBeyondTheBoxAreNamed) {
  document["scale"] = 1e5;
  write();
  EXPECT_NE(error().find("view_"), std::string::npos) << error();
  EXPECT_NE(error().find("sides of the unit cube away"), std::string::npos) << error();
}

TEST_F(RefusedFolder, EndlessNestingIsRefused) {
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string text = "{\"frames\":";
    for (int i = 0; i < 200000; ++i) text += bracket;
    std::ofstream(path / "transforms_train.json") << text;
    EXPECT_NE(error().find("nested more than"), std::string::npos) << error();
  }
}

TEST_F(RefusedFolder, NonFilesAreNamedAtOnce) {
  const fs::path file = path / "transforms_train.json";
  fs::create_directory(file);
  EXPECT_NE(error().find("is a folder"), std::string::npos) << error();
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_NE(error().find("is a pipe or a device"), std::string::npos) << error();
  fs::remove(file);
  fs::create_symlink(file, file);
  EXPECT_NE(error().find("transforms_train.json"), std::string::npos) << error();
  EXPECT_THROW(load_scene(file.string(), {}), std::runtime_error);
  fs::remove(file);
  write();
  fs::create_directory(path / "view_9.png");
  document["frames"][0]["file_path"] = "view_9.png";
  write();
  EXPECT_EQ(load_scene(path.string(), {.holdout = 0}).train.size(), 3U) << "a folder is no picture";
}

// The header gives a picture's size; nothing is decoded to find out.
TEST_F(RefusedFolder, PicturesLargerThanMemoryAreRefusedByTheirHeaders) {
  std::vector<uint8_t> row(65000 * 3);
  uint32_t noise = 1;
  for (uint8_t& byte : row)
    byte = uint8_t((noise = noise * 1664525 + 1013904223) >> 24);  // more than a buffer holds
  FILE* out = std::fopen((path / "view_0.png").c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, out);
  png_set_IHDR(png, info, 65000, 65000, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  png_write_row(png, row.data());
  png_write_flush(png);
  png_destroy_write_struct(&png, &info);
  std::fclose(out);
  for (int i = 1; i < 4; ++i) document["frames"][size_t(i)]["file_path"] = "view_0.png";
  for (int i = 4; i < 400; ++i) document["frames"].push_back(document["frames"][0]);
  write();
  EXPECT_NE(error().find("GB of memory and"), std::string::npos) << error();
}

}  // namespace
}  // namespace klab
