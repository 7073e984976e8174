// Scenes as other programs and people write them: each kind is read as what it means, or refused with file, field and remedy.
// ctest: sanitized
#include <functional>

#include "harness/records/refused.h"
#include "labs/radiance/scene/colmap_model.h"
#include "tests/radiance/colmap_folder.h"
#include "tests/radiance/jpeg_file.h"
#include "tests/radiance/scene_folder.h"

namespace klab {
namespace {

bool scene_notes(const Scene& scene, const std::string& words) {
  for (const std::string& note : scene.notes)
    if (note.find(words) != std::string::npos) return true;
  return false;
}

/// Expects a refusal that is complete and contains all the words.
void expect_refusal(const std::function<void()>& read, std::initializer_list<const char*> words) {
  try {
    read();
    ADD_FAILURE() << "was read";
  } catch (const Refused& refused) {
    EXPECT_TRUE(refused.complete()) << refused.what();
    for (const char* word : words)
      EXPECT_NE(std::string(refused.what()).find(word), std::string::npos) << word << ": " << refused.what();
  }
}

/// A transforms.json of six pictures in images/, of 16x12, in a ring around the origin.
class SceneKinds : public SceneFolder {
 protected:
  void SetUp() override {
    SceneFolder::SetUp();
    fs::create_directories(path / "images");
    document = {{"fl_x", 20}, {"w", 16}, {"h", 12}, {"aabb_scale", 4}, {"frames", json::array()}};
    for (int i = 0; i < 6; ++i) {
      const std::string name = fmt::format("images/{:04}.png", i);
      picture(name, 16, 12, 3);
      document["frames"].push_back({{"file_path", name}, {"transform_matrix", pose(0.5F * float(i))}});
    }
  }
  Scene loaded(const SceneOptions& options = {.holdout = 0}) const {
    write("transforms.json");
    return load_scene(path.string(), options);
  }
  void refused(std::initializer_list<const char*> words) const {
    expect_refusal([&] { loaded(); }, words);
  }
  /// Writes the document's text with one part replaced, for what the JSON library cannot write.
  void write_with(const std::string& part, const std::string& other) const {
    std::string text = document.dump();
    const size_t at = text.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    write_text(path / "transforms.json", text.replace(at, part.size(), other));
  }
  json& frame(size_t i) { return document["frames"][i]; }
};

TEST_F(SceneKinds, NotANumberNamesFrameFieldAndRemedy) {
  const json good = document;
  for (const char* word : {"NaN", "Infinity", "-Infinity", "null"}) {
    document = good;
    frame(3)["transform_matrix"][0][3] = 77.25;
    write_with("77.25", word);
    expect_refusal([&] { load_scene(path.string(), {}); },
                   {"transforms.json", "images/0003.png", "\"transform_matrix\" element [0][3]", word,
                    "take the frame out"});
  }
  document = good;
  document["cx"] = 77.25;
  write_with("77.25", "NaN");
  expect_refusal([&] { load_scene(path.string(), {}); }, {"\"cx\" must be a number", "NaN", "correct it"});
  // A name that contains the word is a name.
  document = good;
  fs::rename(path / "images/0000.png", path / "images/NaN \"Infinity.png");
  frame(0)["file_path"] = "images/NaN \"Infinity.png";
  EXPECT_EQ(loaded().train.size(), 6U);
}

TEST_F(SceneKinds, BackslashesAreSeparatorsWhereNoFileHasTheName) {
  for (json& f : document["frames"]) {
    std::string name = f["file_path"];
    std::ranges::replace(name, '/', '\\');
    f["file_path"] = name;
  }
  EXPECT_EQ(loaded().train.size(), 6U);
  frame(1)["mask_path"] = "images\\mask.png";
  save_png(path / "images/mask.png", 16, 12, 1, std::vector<uint8_t>(16 * 12, 255));
  document["ply_file_path"] = "images\\points.ply";
  write_text(path / "images/points.ply",
             "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float "
             "z\nend_header\n0 0 0");
  document["train_filenames"] = {"images/0001.png", "images\\0002.png"};
  document["test_filenames"] = {"images\\0003.png"};
  const Scene scene = loaded();
  EXPECT_EQ(scene.train.size(), 2U);
  EXPECT_EQ(scene.test.size(), 1U);
  EXPECT_EQ(scene.masks, 1);
  EXPECT_EQ(scene.points.size(), 1U);
  // A file that has the name as it stands wins.
  document.erase("train_filenames"), document.erase("test_filenames");
  picture("images\\0002.png", 20, 15, 3);
  EXPECT_EQ(loaded().train[2].image.width, 20);
}

TEST_F(SceneKinds, PathsOfAnotherMachineSayWhatLiesHere) {
  const json good = document;
  for (const char* before : {"C:\\data\\images\\", "\\\\server\\share\\", "/data/of/another/"}) {
    document = good;
    for (json& f : document["frames"])
      f["file_path"] = before + fs::path(std::string(f["file_path"])).filename().string();
    refused({"\"file_path\"", "path of another machine", "images/0000.png lies here",
             "write \"file_path\" below"});
  }
}

TEST_F(SceneKinds, ExchangedSidesAreNamed) {
  const json good = document;
  document["w"] = 12, document["h"] = 16;
  refused({"images/0000.png is 16x12", "\"w\" and \"h\" say 12x16", "6 pictures", "exchange"});
  document = good;
  for (json& f : document["frames"]) f["w"] = 12, f["h"] = 16;
  refused({"width and height are exchanged"});
  // Another shape altogether.
  document = good;
  document["w"] = 16, document["h"] = 16;
  refused({"images/0000.png is 16x12", "correct \"w\" and \"h\""});
  // Where some pictures fit, the others are left out.
  document = good;
  picture("images/0002.png", 12, 16, 3);
  const Scene scene = loaded();
  EXPECT_EQ(scene.train.size(), 5U);
  EXPECT_TRUE(scene_notes(scene, "images/0002.png is 12x16, of another shape than the camera says (16x12)"));
}

TEST_F(SceneKinds, IntrinsicsOfAFrameNeedNoSize) {
  document.erase("w"), document.erase("h"), document.erase("fl_x");
  for (size_t i = 0; i < 6; ++i) {
    frame(i)["fl_x"] = 20 + double(i), frame(i)["fl_y"] = 21, frame(i)["cx"] = 7.5, frame(i)["cy"] = 6;
    if (i % 2 == 1) picture(fmt::format("images/{:04}.png", i), 12, 16, 3);
  }
  const Scene scene = loaded();
  ASSERT_EQ(scene.train.size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(scene.train[i].camera.width, i % 2 == 1 ? 12 : 16);
    EXPECT_FLOAT_EQ(scene.train[i].camera.fx, 20 + float(i));
  }
  // An angle of the frame's own is such an intrinsic too.
  for (json& f : document["frames"])
    f.erase("fl_x"), f.erase("fl_y"), f.erase("cx"), f.erase("cy"), f["camera_angle_x"] = 0.7;
  EXPECT_EQ(loaded().train.size(), 6U);
  // Shared intrinsics hold for pictures of one shape.
  for (json& f : document["frames"]) f.erase("camera_angle_x");
  document["fl_x"] = 20;
  EXPECT_EQ(loaded().train.size(), 3U);
}

TEST_F(SceneKinds, KeysThatArePassedOverAreNotedOnce) {
  const auto about = [](const Scene& scene, const std::string& key) {
    return std::ranges::count_if(scene.notes, [&](const std::string& note) {
      return note.find('"' + key + '"') != std::string::npos;
    });
  };
  EXPECT_TRUE(loaded().notes.empty());
  for (json& f : document["frames"])
    f["depth_file_path"] = "depth/0.png", f["time"] = 0.5, f["sharpness"] = 30.5;
  document["rolling_shutter"] = {0, 0, 0.03, 0};
  document["integer_depth_scale"] = 0.001;
  document["lights"] = {1, 2};
  document["tone_map"] = "linear";
  const Scene scene = loaded();
  EXPECT_EQ(about(scene, "depth_file_path"), 1);
  EXPECT_TRUE(scene_notes(scene, "depth is not read"));
  EXPECT_EQ(about(scene, "rolling_shutter"), 1);
  EXPECT_TRUE(scene_notes(scene, "taken as still"));
  EXPECT_EQ(about(scene, "time"), 1);
  EXPECT_TRUE(scene_notes(scene, "passed over: \"lights\", \"tone_map\""));
  EXPECT_EQ(about(scene, "sharpness"), 0) << "what changes nothing is not noted";
  document["rolling_shutter"] = {0, 0, 0, 0};
  EXPECT_EQ(about(loaded(), "rolling_shutter"), 0) << "a shutter of no time is none";
}

TEST_F(SceneKinds, APictureOfTwoFramesIsNoted) {
  EXPECT_FALSE(scene_notes(loaded(), "another frame shows"));
  document["frames"].push_back(frame(2));
  frame(6)["file_path"] = "./images/../images/0002";
  EXPECT_TRUE(scene_notes(
      loaded(), "1 frames show a picture that another frame shows (first: ./images/../images/0002)"));
}

TEST_F(SceneKinds, MissingTestPicturesAreReplacedByViewsHeldOut) {
  write("transforms_train.json");
  json test = document;
  for (json& f : test["frames"]) f["file_path"] = "test/" + std::string(f["file_path"]);
  write_text(path / "transforms_test.json", test.dump());
  Scene scene = load_scene(path.string(), {.holdout = 3});
  EXPECT_EQ(scene.train.size(), 4U);
  EXPECT_EQ(scene.test.size(), 2U);
  EXPECT_TRUE(scene_notes(scene, "none of the pictures of transforms_test.json is there"));
  // One that is there is a test set.
  fs::create_directories(path / "test/images");
  fs::copy(path / "images/0001.png", path / "test/images/0001.png");
  scene = load_scene(path.string(), {.holdout = 3});
  EXPECT_EQ(scene.train.size(), 6U);
  EXPECT_EQ(scene.test.size(), 1U);
  // Views for validation are for testing where no others are.
  fs::rename(path / "transforms_test.json", path / "transforms_val.json");
  scene = load_scene(path.string(), {.holdout = 3});
  EXPECT_EQ(scene.train.size(), 6U);
  EXPECT_EQ(scene.test.size(), 1U);
  EXPECT_TRUE(scene_notes(scene, "the views of transforms_val.json are for testing"));
  // A list of files for testing of which none is there.
  fs::remove(path / "transforms_train.json");
  document["test_filenames"] = {"images/nowhere.png"};
  scene = loaded({.holdout = 3});
  EXPECT_EQ(scene.test.size(), 2U);
  EXPECT_TRUE(scene_notes(scene, "none of the 1 pictures for testing that the file lists is there"));
  // Without pictures for training nothing can be done.
  for (json& f : document["frames"]) f["file_path"] = "train/nowhere.png";
  refused({"none of its 6 frames has a usable picture", "train/nowhere.png", "bring the pictures"});
}

TEST_F(SceneKinds, PhotographsWithoutPosesNameTheCommandsThatFindThem) {
  const auto read = [&] { load_scene(path.string(), {}); };
  expect_refusal(read, {"holds 6 photographs and no poses", "colmap feature_extractor",
                        "colmap exhaustive_matcher", "colmap mapper", "images; colmap"});
  fs::remove_all(path / "images");
  expect_refusal(read, {"holds 4 photographs and no poses", "colmap mapper"});
  for (int i = 0; i < 4; ++i) fs::remove(path / fmt::format("view_{}.png", i));
  expect_refusal(read, {"holds no transforms_train.json", "name the folder of a scene"});
}

std::string with_bytes(std::string jpeg, char marker, const std::string& extra) {
  const size_t at = jpeg.rfind(std::string("\xFF") + marker);
  EXPECT_NE(at, std::string::npos);
  return jpeg.insert(at, extra);
}

TEST_F(SceneKinds, JpegsWithAFewBytesTooManyAreRead) {
  std::vector<uint8_t> rgb;
  for (size_t i = 0; i < 16 * 12 * 3; ++i) rgb.push_back(uint8_t(i % 97));
  const std::string whole = jpeg_of(16, 12, rgb, 90);
  const auto write_all = [&](const std::string& bytes) {
    for (size_t i = 0; i < 6; ++i) {
      write_text(path / fmt::format("images/{:04}.jpg", i), i == 0 ? bytes : whole);
      frame(i)["file_path"] = fmt::format("images/{:04}.jpg", i);
    }
  };
  write_all(whole);
  const Image right = loaded().train[0].image;
  EXPECT_FALSE(scene_notes(loaded(), "JPEGs have a few bytes"));
  const std::string zeros(2, '\0'), tables = "\xDB", scan = "\xDA", end = "\xD9";
  for (const std::string& bytes : {with_bytes(whole, '\xD9', zeros), with_bytes(whole, '\xDA', zeros),
                                   with_bytes(whole, '\xC4', std::string(70, '\0'))}) {
    write_all(bytes);
    const Scene scene = loaded();
    EXPECT_EQ(scene.train[0].image.rgba, right.rgba) << "every pixel is there";
    EXPECT_TRUE(scene_notes(scene, "1 JPEGs have a few bytes between their parts"));
  }
  // Bytes behind the end, and fill bytes before a marker, are the format's own.
  for (const std::string& bytes : {whole + "trailer", with_bytes(whole, '\xDA', "\xFF\xFF")}) {
    write_all(bytes);
    EXPECT_EQ(loaded().train[0].image.rgba, right.rgba);
    EXPECT_FALSE(scene_notes(loaded(), "JPEGs have a few bytes"));
  }
  write_all(whole.substr(0, whole.size() - 40));
  refused({"0000.jpg", "damaged or truncated JPEG", "copy the picture again"});
  write_all(with_bytes(whole, '\xD9', std::string(5000, '\0')));
  refused({"damaged or truncated JPEG"});
}

/// Points as other programs write them, the second of two is at (0.5, 0.25, -1) and red.
class PointKinds : public SceneKinds {
 protected:
  void expect_points(const std::string& content, std::array<uint8_t, 3> color) {
    write_text(path / "points.ply", content);
    document["ply_file_path"] = "points.ply";
    const Scene scene = loaded();
    for (const std::string& note : scene.notes) EXPECT_EQ(note.find("not read"), std::string::npos) << note;
    ASSERT_EQ(scene.points.size(), 2U);
    const Vec3 p = scene.world_of(scene.points[1].position);
    EXPECT_NEAR(p.x, 0.5, 1e-5);
    EXPECT_NEAR(p.y, 0.25, 1e-5);
    EXPECT_NEAR(p.z, -1, 1e-5);
    EXPECT_EQ(scene.points[1].rgb, color);
  }
  static std::string header(const std::string& format, const std::string& before, const std::string& more,
                            const std::string& behind) {
    return "ply\nformat " + format + " 1.0\n" + before +
           "element vertex 2\nproperty float x\nproperty float y\nproperty float z\n" + more + behind +
           "end_header\n";
  }
};

constexpr const char* kColors = "property uchar red\nproperty uchar green\nproperty uchar blue\n";
constexpr std::array<uint8_t, 3> kRed{255, 0, 0}, kGray{128, 128, 128};

TEST_F(PointKinds, SkipUnusedElementsAndLists) {
  Binary two;
  for (const float z : {1.F, -1.F})
    two.add(0.5F).add(0.25F).add(z).add(uint8_t(255)).add(uint8_t(0)).add(uint8_t(0));
  const std::string faces = "element face 0\nproperty list uchar int vertex_indices\n";
  expect_points(header("binary_little_endian", "", kColors, faces) + two.bytes, kRed);
  // Two faces behind the vertices, and an element before them.
  Binary face, camera;
  face.add(uint8_t(3)).add(0).add(1).add(1).add(uint8_t(0));
  camera.add(7.5).add(uint8_t(2)).add(1).add(2);
  expect_points(header("binary_little_endian",
                       "element camera 1\nproperty double focal\nproperty list uchar int size\n", kColors,
                       "element face 2\nproperty list uchar int vertex_indices\n") +
                    camera.bytes + two.bytes + face.bytes,
                kRed);
  // A list in a vertex, of another length each time.
  Binary lists;
  lists.add(0.F)
      .add(0.F)
      .add(0.F)
      .add(uint8_t(1))
      .add(uint8_t(2))
      .add(uint8_t(3))
      .add(uint8_t(2))
      .add(9)
      .add(9);
  lists.add(0.5F).add(0.25F).add(-1.F).add(uint8_t(255)).add(uint8_t(0)).add(uint8_t(0)).add(uint8_t(0));
  expect_points(
      header("binary_little_endian", "", std::string(kColors) + "property list uchar int views\n", faces) +
          lists.bytes,
      kRed);
  expect_points(header("ascii", "element camera 1\nproperty double focal\n",
                       std::string(kColors) + "property list uchar int views\n", faces) +
                    "7.5\n0 0 0 1 2 3 2 9 9\n0.5 0.25 -1 255 0 0 0\n",
                kRed);
}

TEST_F(PointKinds, ReadsEveryFormAndKindOfColor) {
  Binary big;
  for (const float z : {1.F, -1.F})
    for (const float value : {0.5F, 0.25F, z}) {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      for (int k = 3; k >= 0; --k) big.add(uint8_t(bits >> 8 * k));
    }
  expect_points(header("binary_big_endian", "", "", "") + big.bytes, kGray);
  expect_points(
      header("ascii", "", "property ushort red\nproperty ushort green\nproperty ushort blue\n", "") +
          "0 0 0 0 0 0\n.5 .25 -1 65535 0 100",
      kRed);
  expect_points(header("ascii", "", "property float r\nproperty float g\nproperty float b\n", "") +
                    "0 0 0 0 0 0\n0.5 2.5e-1 -1 1.0 0 0\n",
                kRed);
}

TEST_F(PointKinds, NoteUnreadableFilesOfPoints) {
  document["ply_file_path"] = "points.ply";
  for (const std::string& content :
       {std::string("not a ply\n"), header("ascii", "", "", "") + "0 0 0\n", header("unheard_of", "", "", ""),
        std::string("ply\nformat ascii 1.0\nelement vertex 1\nproperty float a\nend_header\n1\n"),
        header("binary_little_endian", "", "", "element face 1\nproperty list uchar int i\n") + "x"}) {
    write_text(path / "points.ply", content);
    const Scene scene = loaded();
    EXPECT_EQ(scene.train.size(), 6U);
    EXPECT_TRUE(scene_notes(scene, "the points are not read")) << content;
    expect_refusal([&] { read_point_cloud(path / "points.ply"); }, {"points.ply"});
  }
}

/// COLMAP models of five cameras on a quarter of a circle, with pictures in images/.
class ColmapKinds : public WrittenFolder {
 protected:
  void SetUp() override {
    WrittenFolder::SetUp();
    fs::create_directories(path / "images");
    std::vector<View> views;
    for (int i = 0; i < 5; ++i) {
      View view;
      view.name = fmt::format("{:04}", i);
      const float a = 0.4F * float(i);
      view.camera = look_at({3 * std::cos(a), 3 * std::sin(a), 1 + 0.2F * float(i)}, {0, 0, 0}, 16, 12, 0.7F);
      save_png(path / "images" / (view.name + ".png"), 16, 12, 3,
               std::vector<uint8_t>(16 * 12 * 3, uint8_t(40 * i)));
      views.push_back(view);
    }
    model = model_of(views, {});
    for (int i = 0; i < 30; ++i)
      model.points.push_back(
          {{0.5F * std::sin(float(i)), 0.5F * std::cos(2.F * float(i)), 0.01F * float(i)}, {1, 2, 3}});
    views_ = views;
  }
  std::string text(const char* name) const {
    std::ifstream in(path / "sparse/0" / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Scene loaded() const { return load_scene(path.string(), {.holdout = 0}); }

  WrittenModel model;
  std::vector<View> views_;
};

TEST_F(ColmapKinds, ImagesWithoutLinesOfPointsAreAllRead) {
  write_colmap_text(path / "sparse/0", model);
  const std::string whole = text("images.txt");
  const auto without = [&](const std::function<bool(int image)>& drops) {
    std::string out, line;
    std::istringstream in(whole);
    for (int k = 0; std::getline(in, line); ++k) {
      const bool points = k > 0 && k % 2 == 0;
      if (!points || !drops(k / 2)) out += line + "\n";
    }
    return out;
  };
  const std::string poses = without([](int) { return true; });
  write_text(path / "sparse/0/images.txt", poses);
  Scene scene = loaded();
  EXPECT_EQ(scene.train.size(), 5U);
  EXPECT_TRUE(noted(scene, "4 images have no line of points"));
  // Some have such lines, and the last line of the file may lack its end.
  std::string mixed = without([](int image) { return image % 2 == 0; });
  mixed.pop_back();
  write_text(path / "sparse/0/images.txt", mixed);
  EXPECT_EQ(loaded().train.size(), 5U);
  // Names that are numbers, comments between, and what editors of Windows add.
  std::string windows = "\xEF\xBB\xBF";
  for (const char c : poses) windows += c == '\n' ? "\r\n" : std::string(1, c);
  for (size_t at = windows.find(".png"); at != std::string::npos; at = windows.find(".png", at))
    windows.erase(at, 4);
  write_text(path / "sparse/0/images.txt", windows);
  EXPECT_EQ(loaded().train.size(), 5U);
  write_text(path / "sparse/0/images.txt", whole);
  EXPECT_FALSE(noted(loaded(), "line of points"));
}

TEST_F(ColmapKinds, DamagedLinesOfPointsAreNamed) {
  write_colmap_text(path / "sparse/0", model);
  const std::string whole = text("images.txt"), points = "1.5 2.5 1 3.5 4.5 -1";
  for (const char* other : {"1.5 2.5 1 3.5 4.5", "1.5 2.5 1 3.5 no -1"}) {
    std::string changed = whole;
    changed.replace(changed.find(points), points.size(), other);
    write_text(path / "sparse/0/images.txt", changed);
    expect_refusal([&] { loaded(); }, {"images.txt", "line 3", "triples X Y POINT3D_ID"});
  }
}

TEST_F(ColmapKinds, SidesAndSeparatorsOfOtherMachines) {
  std::swap(model.cameras[0].width, model.cameras[0].height);
  write_colmap_text(path / "sparse/0", model);
  expect_refusal([&] { loaded(); }, {"images.txt", "0000.png is 16x12",
                                     "WIDTH and HEIGHT in cameras.txt say 12x16", "exchange"});
  std::swap(model.cameras[0].width, model.cameras[0].height);
  fs::create_directories(path / "images/left");
  for (WrittenImage& image : model.images) {
    fs::rename(path / "images" / image.name, path / "images/left" / image.name);
    image.name = "left\\" + image.name;
  }
  write_colmap_binary(path / "sparse/0", model);
  EXPECT_EQ(loaded().train.size(), 5U);
  model.images[0].name = "nowhere.png";
  model.images.resize(1);
  write_colmap_binary(path / "sparse/0", model);
  expect_refusal([&] { loaded(); }, {"images.bin", "NAME", "nowhere.png", "bring the pictures"});
}

TEST_F(ColmapKinds, CamerasThatWereNotFoundAreNamed) {
  for (const bool binary : {false, true}) {
    fs::remove_all(path / "sparse");
    model.images[2].translation[1] = NAN;
    (binary ? write_colmap_binary : write_colmap_text)(path / "sparse/0", model);
    expect_refusal([&] { loaded(); }, {"0002.png", "its translation", "nan", "take the image out"});
  }
}

/// A world far from its zero point is the same scene as the one around it: in COLMAP's files and in transforms, in a
/// national grid, in meters north of the equator, and in the earth's own system.
TEST_F(ColmapKinds, CoordinatesFarFromZeroLoseNothing) {
  write_colmap_binary(path / "sparse/0", model);
  const Scene near = loaded();
  EXPECT_FALSE(near.far_away());
  ASSERT_EQ(near.train.size(), 5U);
  const auto expect_same = [&](const Scene& far, double coordinate) {
    EXPECT_TRUE(far.far_away());
    EXPECT_TRUE(noted(far, "subtracted in double precision"));
    ASSERT_EQ(far.train.size(), near.train.size());
    EXPECT_NEAR(far.scale, near.scale, 1e-5);
    EXPECT_EQ(far.cascades, near.cascades);
    for (size_t i = 0; i < 5; ++i)
      for (size_t k = 0; k < 12; ++k)
        EXPECT_NEAR(far.train[i].camera.pose[k], near.train[i].camera.pose[k], 2e-6) << i << " " << k;
    for (size_t i = 0; i < far.points.size(); ++i)
      EXPECT_NEAR(length(far.points[i].position - near.points[i].position), 0, 2e-6);
    EXPECT_NEAR(far.position_of({0.5F, 0.5F, 0.5F})[0], coordinate, 1);
  };
  for (const std::array<double, 3>& shift :
       {std::array<double, 3>{453200, 312345, 812}, {33412345, 5512345, 101}, {4027894, 307046, 4919474}}) {
    WrittenModel moved = model;
    for (WrittenImage& image : moved.images) {
      // t = -R·c, so c + shift has t - R·shift.
      double norm = 0;
      for (const double q : image.rotation) norm += q * q;
      for (double& q : image.rotation) q /= std::sqrt(norm);
      const auto [w, x, y, z] = image.rotation;
      const double R[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                              {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                              {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
      for (size_t r = 0; r < 3; ++r)
        for (size_t k = 0; k < 3; ++k) image.translation[r] -= R[r][k] * shift[k];
    }
    moved.points.clear();  // WrittenModel holds floats, which cannot say where they are
    fs::remove_all(path / "sparse");
    write_colmap_binary(path / "sparse/0", moved);
    Scene far = loaded();
    far.cascades = near.cascades;  // by points, which this model lacks
    expect_same(far, shift[0]);
  }
  // The same cameras in a transforms.json that gives no box, with points as doubles.
  const std::array<double, 3> shift{453200, 312345, 812};
  json document = {{"camera_model", "PINHOLE"},
                   {"w", 16},
                   {"h", 12},
                   {"frames", json::array()},
                   {"ply_file_path", "p.ply"}};
  document["fl_x"] = views_[0].camera.fx;
  for (const View& view : views_) {
    json rows = json::array();
    for (size_t r = 0; r < 3; ++r) {
      const float* row = view.camera.pose.data() + 4 * r;
      rows.push_back({row[0], row[1], row[2], row[3] + shift[r]});
    }
    rows.push_back({0, 0, 0, 1});
    document["frames"].push_back({{"file_path", "images/" + view.name + ".png"}, {"transform_matrix", rows}});
  }
  std::string ply = fmt::format(
      "ply\nformat ascii 1.0\nelement vertex {}\nproperty double x\nproperty double y\nproperty double "
      "z\nend_header\n",
      model.points.size());
  for (const ScenePoint& p : model.points)
    ply += fmt::format("{:.9f} {:.9f} {:.9f}\n", p.position.x + shift[0], p.position.y + shift[1],
                       p.position.z + shift[2]);
  write_text(path / "p.ply", ply);
  fs::remove_all(path / "sparse");
  write_text(path / "transforms.json", document.dump());
  expect_same(loaded(), shift[0]);
  // With a box by convention, too, unless the file says where it is.
  document["aabb_scale"] = 4;
  write_text(path / "transforms.json", document.dump());
  expect_same(loaded(), shift[0]);
  document["scale"] = near.scale;
  document["offset"] = {0.5 - near.scale * shift[0], 0.5 - near.scale * shift[1],
                        0.5 - near.scale * shift[2]};
  write_text(path / "transforms.json", document.dump());
  const Scene placed = loaded();
  EXPECT_NEAR(placed.position_of({0.5F, 0.5F, 0.5F})[1], shift[1], 1e-3);
}

TEST(Origin, IsZeroUnlessCamerasAreFarAway) {
  const auto around = [](double x, double radius) {
    std::vector<WorldPosition> at;
    for (int i = 0; i < 8; ++i)
      at.push_back({x + radius * std::cos(i), radius * std::sin(i), 0.1 * radius * i});
    return at;
  };
  EXPECT_EQ(origin_of({}), WorldPosition{});
  EXPECT_EQ(origin_of(around(0, 4)), WorldPosition{});
  EXPECT_EQ(origin_of(around(90, 1)), WorldPosition{});
  EXPECT_NEAR(origin_of(around(453200, 4))[0], 453200, 4);
  EXPECT_NEAR(origin_of(around(1, 1e-4))[0], 1, 1e-3) << "a small world that is far in its own terms";
  std::vector<WorldPosition> one_lost = around(453200, 4);
  one_lost[3] = {0, 0, 0};
  EXPECT_NEAR(origin_of(one_lost)[0], 453200, 4) << "a camera that was not found does not matter";
}

}  // namespace
}  // namespace klab
