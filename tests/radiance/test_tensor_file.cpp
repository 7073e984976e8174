// Models and checkpoints on disk: files that the format forbids, and values that no training makes, are
// refused by name.
// ctest: sanitized
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "labs/radiance/field/model.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class Tensors16 : public ::testing::Test {
 protected:
  /// Two tensors of eight bytes each, between these places of the data.
  std::string error(size_t a, size_t b, size_t c, size_t d, size_t bytes) const {
    const nlohmann::json header = {{"a", {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {a, b}}}},
                                   {"b", {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {c, d}}}}};
    const std::string text = header.dump();
    const uint64_t length = text.size();
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), 8);
    out << text << std::string(bytes, '\0');
    out.close();
    try {
      const TensorFile read(file);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }

  const TempFolder own;
  const fs::path file = own / "tensors";
};

TEST_F(Tensors16, EveryByteBelongsToOneTensor) {
  EXPECT_EQ(error(0, 8, 8, 16, 16), "");
  EXPECT_EQ(error(8, 16, 0, 8, 16), "");
  EXPECT_NE(error(0, 8, 4, 12, 16).find("share bytes"), std::string::npos);
  EXPECT_NE(error(0, 8, 0, 8, 16).find("share bytes"), std::string::npos);
  EXPECT_NE(error(0, 8, 12, 20, 20).find("belong to none"), std::string::npos);
  EXPECT_NE(error(0, 8, 8, 16, 20).find("belong to none"), std::string::npos);
  EXPECT_NE(error(0, 8, 8, 16, 12).find("is cut short"), std::string::npos);
}

TEST_F(Tensors16, RefusesNonFiniteWeights) {
  Config c;
  c.levels = 2;
  c.log2_table = 4;
  c.finest_resolution = 16;
  c.grid = 8;
  Model model(c, {});
  model.initialize(1);
  model.save(file);
  EXPECT_NO_THROW(Model::load(file));
  model.of(Part::density)[3] = std::nanf("");
  model.save(file);
  try {
    Model::load(file);
    FAIL() << "a model of NaN is taken";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("not finite (element 3)"), std::string::npos) << e.what();
  }
  model.of(Part::density)[3] = 0;
  model.placement.scale = 1e30F;
  model.save(file);
  EXPECT_THROW(Model::load(file), std::runtime_error);
}

}  // namespace
}  // namespace klab
