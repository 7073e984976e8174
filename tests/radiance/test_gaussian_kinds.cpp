// Gaussian files as other programs write them: infinite values that mean something, other elements, text, other byte orders.
// ctest: sanitized
#include <cstring>
#include <functional>

#include "harness/records/refused.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/splat/gaussian_model.h"
#include "labs/radiance/splat/ply.h"
#include "labs/radiance/splat/splat_file.h"
#include "tests/radiance/colmap_folder.h"

namespace klab {
namespace {

const char* const kNames[] = {"x",       "y",       "z",       "f_dc_0", "f_dc_1", "f_dc_2", "opacity",
                              "scale_0", "scale_1", "scale_2", "rot_0",  "rot_1",  "rot_2",  "rot_3"};
constexpr size_t kNumbers = std::size(kNames);
using Row = std::array<float, kNumbers>;

class GaussianKinds : public WrittenFolder {
 protected:
  void SetUp() override {
    WrittenFolder::SetUp();
    for (int i = 0; i < 4; ++i) {
      Row row{};
      for (size_t k = 0; k < kNumbers; ++k) row[k] = 0.1F * float(k + 1) + 0.01F * float(i);
      rows.push_back(row);
    }
  }
  static std::string header(const std::string& format, size_t n, const std::string& before = "",
                            const std::string& behind = "", const char* type = "float") {
    std::string text = "ply\nformat " + format + " 1.0\n" + before + fmt::format("element vertex {}\n", n);
    for (const char* name : kNames) text += fmt::format("property {} {}\n", type, name);
    return text + behind + "end_header\n";
  }
  std::string body() const {
    Binary out;
    for (const Row& row : rows)
      for (const float value : row) out.add(value);
    return out.bytes;
  }
  GaussianSet load(const std::string& content) {
    notes.clear();
    write_text(path / "x.ply", content);
    return load_ply(path / "x.ply", {}, &notes);
  }
  GaussianSet load() { return load(header("binary_little_endian", rows.size()) + body()); }
  void expect_rows(const GaussianSet& set) const {
    ASSERT_EQ(set.n, 4);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_FLOAT_EQ(set.position[4 + i], rows[i][1]);
      EXPECT_FLOAT_EQ(set.opacity_raw[i], rows[i][6]);
      EXPECT_FLOAT_EQ(set.quaternion[12 + i], rows[i][13]);
    }
  }
  std::string refusal(const std::function<void()>& read) {
    try {
      read();
    } catch (const Refused& refused) {
      EXPECT_TRUE(refused.complete()) << refused.what();
      return refused.what();
    }
    ADD_FAILURE() << "was read";
    return "";
  }
  void expect_refused(const std::function<void()>& read, std::initializer_list<const char*> words) {
    const std::string message = refusal(read);
    for (const char* word : words)
      EXPECT_NE(message.find(word), std::string::npos) << word << ": " << message;
  }
  bool noted(const std::string& words) const {
    return std::ranges::any_of(notes,
                               [&](const std::string& n) { return n.find(words) != std::string::npos; });
  }

  std::vector<Row> rows;
  std::vector<std::string> notes;
};

TEST_F(GaussianKinds, InfiniteOpacitiesAndFlatOnesAreRead) {
  expect_rows(load());
  EXPECT_TRUE(notes.empty());
  rows[0][6] = rows[1][6] = INFINITY;
  rows[2][6] = -INFINITY;
  rows[3][9] = -INFINITY;
  const GaussianSet set = load();
  const auto opacity = [&](size_t i) { return 1 / (1 + std::exp(-set.opacity_raw[i])); };
  EXPECT_NEAR(opacity(0), 509.0 / 510, 1e-5);
  EXPECT_NEAR(opacity(2), 1.0 / 510, 1e-5);
  EXPECT_FLOAT_EQ(set.log_scale[2 * 4 + 3], std::log(1e-5F));
  EXPECT_TRUE(noted("3 opacities are infinite: 2 Gaussians become as opaque as klab's are, 1 as clear"));
  EXPECT_TRUE(noted("1 sizes are 0"));
}

TEST_F(GaussianKinds, OtherValuesThatAreNotFiniteAreCounted) {
  const std::vector<Row> good = rows;
  for (const auto& [column, value] : {std::pair<size_t, float>{6, NAN},
                                      {9, INFINITY},  // an endless Gaussian
                                      {0, INFINITY},
                                      {0, -INFINITY},
                                      {12, NAN}}) {
    rows = good;
    rows[1][column] = rows[3][column] = value;
    expect_refused([&] { load(); }, {"x.ply", kNames[column], "of vertex 1",
                                     "2 values of the file are not finite", "take these Gaussians out"});
  }
}

TEST_F(GaussianKinds, OtherElementsArePassedOver) {
  Binary camera;
  for (int k = 0; k < 16; ++k) camera.add(float(k));
  camera.add(640).add(480);
  const std::string behind =
      "element extrinsic 16\nproperty float extrinsic\nelement image_size 2\nproperty uint image_size\n";
  expect_rows(load(header("binary_little_endian", 4, "", behind) + body() + camera.bytes));
  EXPECT_TRUE(
      noted("elements that splatting files do not have are passed over: \"extrinsic\", \"image_size\""));
  EXPECT_EQ(notes.size(), 1U);
  expect_rows(
      load(header("binary_little_endian", 4, "", "element face 0\nproperty list uchar int vertex_indices\n") +
           body()));
  // A list in a vertex, and an element before the vertices.
  std::string with_lists;
  for (size_t i = 0; i < 4; ++i)
    with_lists +=
        body().substr(i * kNumbers * 4, kNumbers * 4) + Binary().add(uint8_t(i)).bytes + std::string(i, 'x');
  Binary before;
  before.add(3.5);
  expect_rows(load(header("binary_little_endian", 4, "element camera 1\nproperty double focal\n",
                          "property list uchar uchar tags\n") +
                   before.bytes + with_lists));
  EXPECT_TRUE(noted("properties that splatting files do not have are passed over: \"tags\""));
  EXPECT_TRUE(noted("passed over: \"camera\""));
  // Normals are part of such files.
  Binary normals;
  for (int k = 0; k < 3; ++k) normals.add(0.0F);
  std::string with_normals;
  for (size_t i = 0; i < 4; ++i)
    with_normals += body().substr(i * kNumbers * 4, kNumbers * 4) + normals.bytes;
  expect_rows(load(
      header("binary_little_endian", 4, "", "property float nx\nproperty float ny\nproperty float nz\n") +
      with_normals));
  EXPECT_TRUE(notes.empty());
}

/// Files of other programs have y down and no scene: they get a box of their own, with z up.
TEST_F(GaussianKinds, LoneGaussiansFillTheUnitCube) {
  rows.clear();
  for (int i = 0; i < 100; ++i) {
    Row row{};
    row[0] = 200 + float(i), row[1] = -5 + 0.1F * float(i), row[2] = 30 + 0.5F * float(i);
    row[6] = 1, row[10] = 1;
    rows.push_back(row);
  }
  rows[0][0] = -1e6F;  // one far away, and one that is hardly seen
  rows[50][2] = 1e6F, rows[50][6] = -9;
  write_text(path / "x.ply", header("binary_little_endian", rows.size()) + body());
  const auto model = load_lone_gaussians(path / "x.ply", &notes);
  const GaussianSet& set = model->as_gaussians()->set;
  int inside = 0;
  for (size_t i = 0; i < 100; ++i) {
    bool in = true;
    for (size_t k = 0; k < 3; ++k)
      in = in && set.position[100 * k + i] > -1e-4F && set.position[100 * k + i] < 1.0001F;
    inside += in ? 1 : 0;
  }
  EXPECT_GE(inside, 88);
  EXPECT_LE(inside, 98);
  // y down becomes z up; z forward becomes y.
  EXPECT_LT(set.position[200 + 80], set.position[200 + 20]);
  EXPECT_GT(set.position[100 + 80], set.position[100 + 20]);
  EXPECT_NEAR(model->placement().scale, 0.5 / 45.5, 1e-5) << "from the fifth of 99 to the fifth from behind";
}

TEST_F(GaussianKinds, ReadsTextAndTheOtherByteOrder) {
  const auto text = [&] {
    std::string lines;
    for (const Row& row : rows) {
      for (const float value : row) lines += fmt::format("{:.9g} ", value);
      lines += "\r\n";
    }
    return lines;
  };
  expect_rows(load(header("ascii", 4) + text()));
  std::string big = body();
  for (size_t at = 0; at < big.size(); at += 4)
    std::reverse(big.begin() + std::ptrdiff_t(at), big.begin() + std::ptrdiff_t(at + 4));
  expect_rows(load(header("binary_big_endian", 4) + big));
  Binary doubles;
  for (const Row& row : rows)
    for (const float value : row) doubles.add(double(value));
  expect_rows(load(header("binary_little_endian", 4, "", "", "double") + doubles.bytes));
  rows[0][6] = INFINITY;
  load(header("ascii", 4) + text());
  EXPECT_TRUE(noted("1 opacities are infinite"));
}

TEST_F(GaussianKinds, CompressedFilesAreRefusedWithTheRemedy) {
  write_text(path / "x.ply",
             "ply\nformat binary_little_endian 1.0\nelement chunk 1\nproperty float min_x\nelement vertex "
             "4\nproperty uint "
             "packed_position\nproperty uint packed_rotation\nend_header\n" +
                 std::string(4 + 32, '\0'));
  expect_refused([&] { load_ply(path / "x.ply", {}); },
                 {"packed_position", "compressed", "export it uncompressed"});
  // A cloud of points is no file of Gaussians.
  write_text(path / "x.ply",
             "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float "
             "z\nend_header\n0 0 0\n");
  expect_refused([&] { load_ply(path / "x.ply", {}); }, {"has no property 'scale_0'", "export Gaussians"});
}

/// Files of a world that is far away are written around its origin, name it, and are read back, into another scene's
/// origin too. Files of other programs are in the world's coordinates, or around the origin already.
TEST_F(GaussianKinds, KeepTheOffsetOfAWorldThatIsFarAway) {
  const WorldPlace place{.scale = 0.25F, .offset = {0.5F, 0.25F, 0.75F}, .origin = {453200, 312345, 812}};
  const Placement placement{
      .cascades = 2, .scale = 0.25F, .offset = place.offset, .near = 0.1F, .black = true};
  GaussianSet set = random_gaussians(20, 0, 3);
  save_ply(path / "x.ply", set, place, &placement);
  const auto expect_near = [&](const GaussianSet& back, float within) {
    ASSERT_EQ(back.n, 20);
    for (size_t i = 0; i < 60; ++i) ASSERT_NEAR(back.position[i], set.position[i], within) << i;
  };
  expect_near(load_ply(path / "x.ply", place), 1e-6F);
  const std::optional<StoredPlace> stored = place_in_ply(path / "x.ply");
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->place.origin, place.origin);
  EXPECT_EQ(stored->placement.cascades, 2);
  EXPECT_TRUE(stored->placement.black);
  EXPECT_FLOAT_EQ(stored->placement.near, 0.1F);
  WorldPlace other = place;
  other.origin = {453210, 312345, 812};
  other.offset.x += 10 * other.scale;
  expect_near(load_ply(path / "x.ply", other), 1e-5F);
  save_splat(path / "x.splat", set, place);
  std::vector<float> along;
  for (const float x : load_splat(path / "x.splat", place).position) along.push_back(x);
  std::ranges::sort(along);
  std::vector<float> wanted = set.position;
  std::ranges::sort(wanted);
  for (size_t i = 0; i < 60; ++i)
    EXPECT_NEAR(along[i], wanted[i], 1e-5) << "around the origin, as klab writes it";
  // Another program's file, in the world's coordinates as floats: steps of 1/32.
  GaussianSet world = in_world(set, place);
  for (size_t k = 0; k < 3; ++k)
    for (size_t i = 0; i < 20; ++i) world.position[20 * k + i] += float(place.origin[k]);
  save_ply(path / "y.ply", world, {});
  expect_near(load_ply(path / "y.ply", place), 0.01F);
  // A comment that says nothing sensible is refused.
  std::ifstream in(path / "x.ply", std::ios::binary);
  std::string whole{std::istreambuf_iterator<char>(in), {}};
  write_text(path / "z.ply", whole.replace(whole.find("\"cascades\":2"), 12, "\"cascades\":0"));
  expect_refused([&] { load_ply(path / "z.ply", place); },
                 {"z.ply", "klab place", "\"cascades\"", "take the comment out"});
}

}  // namespace
}  // namespace klab
