// Activations between floats and bfloat16: number by number the results are those of vectors, which this machine may lack.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/common/conv/pair_rows.h"
#include "kernels/common/mlp/rounding.h"

namespace klab {
namespace {

using namespace mlp_bf16;

constexpr int64_t kChannels = 32;

/// Numbers of both signs at a boundary of 64 bytes, and words of the same kind for a tile.
struct Memory {
  alignas(64) std::array<float, kChannels * kTile> floats{};
  alignas(64) std::array<uint32_t, kChannels * kHalf> by_channels{}, by_samples{}, gate_channels{},
      gate_samples{};
  explicit Memory(unsigned seed) {
    std::mt19937 random(seed);
    for (float& x : floats) x = float(int32_t(random())) * 0x1p-28F;
    for (uint32_t& x : by_channels) x = 0xABABABABU;
    for (uint32_t& x : by_samples) x = 0xABABABABU;
    // A gate of zeros, and of numbers of both signs.
    for (uint32_t& x : gate_channels) x = random() & (random() % 3 == 0 ? 0xFFFF0000U : 0xFFFFFFFFU);
    for (uint32_t& x : gate_samples) x = random() & (random() % 3 == 0 ? 0x0000FFFFU : 0xFFFFFFFFU);
  }
  Tile tile() { return {by_channels.data(), by_samples.data()}; }
  Tile gate() { return {gate_channels.data(), gate_samples.data()}; }
};

/// The bfloat16 nearest to channel c of a sample, from memory as the header's two layouts have it.
uint16_t by_channels(const Memory& m, int64_t c, int64_t i) {
  return uint16_t(m.by_channels[size_t(c / 2 * kTile + i)] >> (c % 2 * 16));
}
uint16_t by_samples(const Memory& m, int64_t c, int64_t i) {
  return uint16_t(m.by_samples[size_t(c * kHalf + i / 2)] >> (i % 2 * 16));
}

TEST(Rounding, LoadsBothLayoutsNumberByNumber) {
  for (const int64_t rows : {1, 4, 7})
    for (const int64_t count : {kTile, int64_t{37}}) {
      Memory m(1);
      load_rows(m.floats.data(), rows, kTile, count, m.tile(), false);
      for (int64_t c = 0; c < rows; ++c)
        for (int64_t i = 0; i < kTile; ++i) {
          const uint16_t right =
              i < count ? bfloat16_from_float(m.floats[size_t(c * kTile + i)]) : uint16_t{0};
          ASSERT_EQ(by_channels(m, c, i), right) << rows << " " << c << " " << i;
          ASSERT_EQ(by_samples(m, c, i), right) << rows << " " << c << " " << i;
        }
      for (int64_t i = 0; i < kTile && rows % 2 == 1; ++i)
        ASSERT_EQ(by_channels(m, rows, i), 0) << "the other half of an odd channel's word";
    }
}

TEST(Rounding, EndsRowsNumberByNumber) {
  for (const int64_t rows : {1, 5, 6}) {
    Memory relu(2), gated(2);
    end_rows<End::relu>(relu.floats.data(), rows, 2, {.tile = relu.tile()}, false);
    end_rows<End::gate>(gated.floats.data(), rows, 2, {.tile = gated.tile(), .gate = gated.gate()}, false);
    for (int64_t c = 0; c < rows; ++c)
      for (int64_t i = 0; i < kTile; ++i) {
        const float z = relu.floats[size_t(c * kTile + i)];
        const uint16_t rounded = bfloat16_from_float(z);
        ASSERT_EQ(by_channels(relu, c + 2, i), z > 0 ? rounded : 0);
        ASSERT_EQ(by_samples(relu, c + 2, i), z > 0 ? rounded : 0);
        const auto open = [&](uint16_t half) { return int16_t(half) > 0; };
        const auto at = size_t((c + 2) / 2 * kTile + i), of = size_t((c + 2) * kHalf + i / 2);
        ASSERT_EQ(by_channels(gated, c + 2, i),
                  open(uint16_t(gated.gate_channels[at] >> (c % 2 * 16))) ? rounded : 0);
        ASSERT_EQ(by_samples(gated, c + 2, i),
                  open(uint16_t(gated.gate_samples[of] >> (i % 2 * 16))) ? rounded : 0);
      }
    EXPECT_EQ(by_channels(relu, 1, 0), 0xABAB) << "rows before the first are left alone";
  }
  Memory plain(3);
  std::vector<float> rows(size_t(3 * 100), -1.0F);
  end_rows<End::plain>(plain.floats.data(), 2, 1, {.rows = rows.data(), .stride = 100}, false);
  EXPECT_EQ(rows[0], -1);
  EXPECT_EQ(std::memcmp(&rows[100], plain.floats.data(), kTile * sizeof(float)), 0);
  EXPECT_EQ(rows[100 + kTile], -1);
}

TEST(Rounding, ClearsChannelsThatProductsReadBeyondTheNetworks) {
  for (const int64_t channels : {1, 2, 7, 30, 31, 32}) {
    Memory m(4);
    clear_rest(m.tile(), channels);
    for (int64_t c = 0; c < kChannels; ++c)
      for (int64_t i = 0; i < kTile; ++i)
        ASSERT_EQ(by_channels(m, c, i), c < 2 * pairs(channels) ? 0xABAB : 0) << channels << " " << c;
  }
}

/// Where the processor has the vectors, both ways give the same bits; curves differ by some units of 2^-20.
TEST(Rounding, EqualsTheVectors) {
  if (!rounds_vectors()) GTEST_SKIP() << unsupported();
  for (const int64_t rows : {1, 6, 9}) {
    Memory one(5), all(5);
    load_rows(one.floats.data(), rows, kTile, 50, one.tile(), false);
    load_rows(all.floats.data(), rows, kTile, 50, all.tile(), true);
    EXPECT_EQ(one.by_channels, all.by_channels);
    EXPECT_EQ(one.by_samples, all.by_samples);
    end_rows<End::gate>(one.floats.data(), rows, 0, {.tile = one.tile(), .gate = one.gate()}, false);
    end_rows<End::gate>(all.floats.data(), rows, 0, {.tile = all.tile(), .gate = all.gate()}, true);
    EXPECT_EQ(one.by_channels, all.by_channels);
    EXPECT_EQ(one.by_samples, all.by_samples);
    alignas(64) std::array<uint32_t, kHalf * kChannels> t_one{}, t_all{};
    transpose_words(one.by_samples.data(), 16, kChannels, t_one.data(), false);
    transpose_words(all.by_samples.data(), 16, kChannels, t_all.data(), true);
    EXPECT_EQ(t_one, t_all);
    logistic_gradient_rows(one.floats.data(), kTile, one.floats.data() + kTile, false);
    logistic_gradient_rows(all.floats.data(), kTile, all.floats.data() + kTile, true);
    logistic_rows(one.floats.data(), 1, kTile, false);
    logistic_rows(all.floats.data(), 1, kTile, true);
    for (size_t i = 0; i < 2 * kTile; ++i)
      EXPECT_NEAR(one.floats[i], all.floats[i], 0x1p-18 * (1 + std::abs(all.floats[i]))) << i;
    std::array<uint32_t, 64> w_one{}, w_all{};
    conv::pair_rows(one.floats.data() + 500, one.floats.data() + 700, 45, w_one.data(), false);
    conv::pair_rows(one.floats.data() + 500, one.floats.data() + 700, 45, w_all.data(), true);
    EXPECT_EQ(w_one, w_all);
    EXPECT_EQ(w_one[45], 0U);
  }
}

}  // namespace
}  // namespace klab
