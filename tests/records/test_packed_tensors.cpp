// Pruned tensors: the smallest numbers become zero, files leave zeros out and give them back, damage is refused.
// ctest: sanitized
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "harness/records/packed_tensors.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class PackedFile : public ::testing::Test {
 protected:
  void save(const std::vector<TensorView>& tensors) const {
    save_tensors(path, PackedTensors(tensors).views(), {});
  }
  const TempFolder own;
  const fs::path path = own / "packed";
};

TEST(Pruning, TakesTheSmallestNumbers) {
  std::vector<float> v = {3, -1, 2, -5, 1, 4};
  EXPECT_EQ(prune_smallest(v, 1, 0.5), 3);
  EXPECT_EQ(v, (std::vector<float>{3, 0, 0, -5, 0, 4}));
}

TEST(Pruning, TakesTheEarlierOfTwoAlike) {
  std::vector<float> v = {1, -1, 1, 1};
  EXPECT_EQ(prune_smallest(v, 1, 0.5), 2);
  EXPECT_EQ(v, (std::vector<float>{0, 0, 1, 1}));
}

TEST(Pruning, TakesWholeEntries) {
  std::vector<float> v = {9, 0, 1, 1, 0, 2, 8, 8};  // entries of two
  prune_smallest(v, 2, 0.5);
  EXPECT_EQ(v, (std::vector<float>{9, 0, 0, 0, 0, 0, 8, 8}));
}

TEST(Pruning, LeavesAllForAShareOfNothing) {
  std::vector<float> v = {1, 2, 3};
  EXPECT_EQ(prune_smallest(v, 1, 0), 0);
  EXPECT_EQ(v, (std::vector<float>{1, 2, 3}));
}

TEST_F(PackedFile, ZerosTakeABitEach) {
  std::vector<float> table(2000, 0.0F);
  for (size_t i = 0; i < table.size(); i += 10) table[i] = float(i) + 1;
  save({{"table", "F32", {1000, 2}, table.data()}});
  const TensorFile file(path);
  EXPECT_TRUE(is_packed(file, "table"));
  EXPECT_EQ(file.data_bytes(), 200U * 8 + 125);
  std::vector<float> read(table.size(), -1.0F);
  read_packed(file, "table", "F32", {1000, 2}, read.data());
  EXPECT_EQ(read, table);
}

TEST_F(PackedFile, TensorsThatWouldGrowStayAsTheyAre) {
  const std::vector<float> dense = {1, 2, 3, 4};
  const std::vector<uint8_t> bits(64, 0);  // of a grid: bytes are no numbers
  save({{"dense", "F32", {4}, dense.data()}, {"grid", "U8", {64}, bits.data()}});
  const TensorFile file(path);
  EXPECT_FALSE(is_packed(file, "dense"));
  EXPECT_FALSE(is_packed(file, "grid"));
  std::vector<float> read(4);
  read_packed(file, "dense", "F32", {4}, read.data());
  EXPECT_EQ(read, dense);
}

TEST_F(PackedFile, ATensorOfZerosHasNoNumbers) {
  const std::vector<float> none(100, 0.0F);
  save({{"none", "F32", {100}, none.data()}});
  const TensorFile file(path);
  std::vector<float> read(100, 7.0F);
  read_packed(file, "none", "F32", {100}, read.data());
  EXPECT_EQ(read, none);
}

TEST_F(PackedFile, RefusesBitsThatDisagreeWithTheNumbers) {
  const std::vector<float> two = {1, 2};
  const std::vector<uint8_t> three = {0b111, 0}, behind = {0b11, 0x80};
  std::vector<float> read(12);
  save_tensors(
      path, std::vector<TensorView>{{"w", "F32", {2}, two.data()}, {"w.kept", "U8", {2}, three.data()}}, {});
  EXPECT_THROW(read_packed(TensorFile(path), "w", "F32", {12}, read.data()), std::runtime_error);
  save_tensors(
      path, std::vector<TensorView>{{"w", "F32", {2}, two.data()}, {"w.kept", "U8", {2}, behind.data()}}, {});
  EXPECT_THROW(read_packed(TensorFile(path), "w", "F32", {12}, read.data()), std::runtime_error);
}

TEST_F(PackedFile, RefusesBitsOfAnotherSize) {
  const std::vector<float> two = {1, 2};
  const std::vector<uint8_t> bits = {0b11};
  save_tensors(
      path, std::vector<TensorView>{{"w", "F32", {2}, two.data()}, {"w.kept", "U8", {1}, bits.data()}}, {});
  std::vector<float> read(12);
  EXPECT_THROW(read_packed(TensorFile(path), "w", "F32", {12}, read.data()), std::runtime_error);
}

}  // namespace
}  // namespace klab
