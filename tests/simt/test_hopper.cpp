// Hopper's instructions on the executor: what right kernels compute, what wrong ones are told, and what TMA counts.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "harness/simt/line_counts.h"
#include "harness/simt/session.h"
#include "harness/simt/tensor_map.h"
#include "tests/simt/counted_module.h"
#include "tests/simt/kernels/hopper_faults.h"

namespace klab {
namespace {

using faults::Fault;
using faults::NamedFault;
using faults::StoreFault;
using simt::Kind;

constexpr int kM = 64, kN = 128, kSteps = 6;

struct Outcome {
  bool right = false, threw = false;
  std::vector<simt::Finding> findings;
  bool has(Kind kind, const std::string& word = "") const {
    return std::ranges::any_of(
        findings, [&](const auto& f) { return f.kind == kind && f.text.find(word) != std::string::npos; });
  }
  std::string all() const {
    std::string text;
    for (const auto& f : findings) text += f.describe() + "\n";
    return text;
  }
};

/// Small integers, which all sums hold exactly.
Outcome product(Fault fault, uint64_t seed, bool traced = true) {
  const auto run = of_module<void (*)(int, int, const uint16_t*, const uint16_t*, float*)>("hopper_product");
  if (run == nullptr) return {};
  constexpr int k = 64 * kSteps;
  std::mt19937 random(7);
  const auto number = [&] { return float(int(random() % 9) - 4); };
  std::vector<float> a(kM * k), b(kN * k), c(kM * kN);
  std::vector<uint16_t> bits_a(a.size()), bits_b(b.size());
  for (size_t i = 0; i < a.size(); ++i) bits_a[i] = uint16_t(std::bit_cast<uint32_t>(a[i] = number()) >> 16);
  for (size_t i = 0; i < b.size(); ++i) bits_b[i] = uint16_t(std::bit_cast<uint32_t>(b[i] = number()) >> 16);
  simt::Session session({.traced = traced, .seed = seed});
  Outcome outcome;
  try {
    run(int(fault), kSteps, bits_a.data(), bits_b.data(), c.data());
  } catch (const simt::Error&) {
    outcome.threw = true;
  }
  outcome.findings = session.findings();
  outcome.right = !outcome.threw;
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int p = 0; p < k; ++p) sum += a[size_t(i * k + p)] * b[size_t(j * k + p)];
      outcome.right = outcome.right && c[size_t(i * kN + j)] == sum;
    }
  return outcome;
}

TEST(Hopper, ProductOfFetchedTilesIsRightWithAnyOrderOfThreads) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Outcome o = product(Fault::none, seed);
    EXPECT_TRUE(o.right) << seed;
    EXPECT_TRUE(o.findings.empty()) << o.all();
  }
  EXPECT_TRUE(product(Fault::none, 1, false).right);
}

/// Which of these a fault is told as depends on the order of warps.
struct Wrong {
  Fault fault;
  std::vector<std::pair<Kind, std::string>> told;
};

TEST(Hopper, FaultsOfAPipelineAreFound) {
  const std::pair<Kind, std::string> unwritten{Kind::uninitialized, "wgmma reads shared memory"},
      in_flight{Kind::missing_wait, "mbarrier that it completes is not over"};
  const std::vector<Wrong> all = {
      {Fault::wrong_parity, {in_flight, unwritten}},
      {Fault::too_few_bytes,
       {{Kind::barrier_misuse, "fewer than those of its copies"},
        {Kind::deadlock, "have come that nothing expects"}}},
      {Fault::too_many_bytes, {{Kind::deadlock, "16 bytes that are expected have not come"}}},
      {Fault::no_wait_for_empty,
       {{Kind::missing_wait, "another asynchronous copy is still in flight"}, {Kind::shared_race, "wgmma"}}},
      {Fault::no_wait_for_full, {in_flight, unwritten}},
      {Fault::releases_early, {{Kind::shared_race, "wgmma.wait_group"}}},
      {Fault::never_releases, {{Kind::deadlock, "0 of 1 arrivals"}}},
      {Fault::releases_twice, {{Kind::shared_race, ""}, {Kind::deadlock, ""}, {Kind::missing_wait, ""}}},
      {Fault::two_producers, {{Kind::deadlock, "1 of 2 arrivals"}}},
      {Fault::wrong_swizzle, {{Kind::in_flight, "a swizzle of 64 bytes, and the copy of line"}}},
      {Fault::wrong_stride,
       {{Kind::in_flight,
         "rows 0, 8, 16, 24 lie at 0, 1024, 2048, 3072, and are read at 0, 512, 1024, 1536"}}},
      {Fault::no_fence, {{Kind::in_flight, "needs a wgmma.fence"}}},
      {Fault::no_wait_group, {{Kind::in_flight, "never waited for"}}},
      {Fault::sums_written, {{Kind::in_flight, "was written while"}}},
      {Fault::three_warps,
       {{Kind::deadlock, "only a part of the four warps"}, {Kind::in_flight, "commit different products"}}},
  };
  for (const Wrong& w : all)
    for (const uint64_t seed : {1, 2}) {
      const Outcome o = product(w.fault, seed);
      EXPECT_TRUE(std::ranges::any_of(w.told, [&](const auto& t) { return o.has(t.first, t.second); }))
          << "fault " << int(w.fault) << "\n"
          << o.all();
      ASSERT_FALSE(o.findings.empty()) << int(w.fault);
      EXPECT_NE(o.findings[0].file.find("hopper.cu"), std::string::npos) << o.all();
      EXPECT_GT(o.findings[0].line, 0);
    }
}

TEST(Hopper, WrongDescriptorsAndEarlyReadsGiveWrongSums) {
  EXPECT_FALSE(product(Fault::wrong_stride, 1).right);
  EXPECT_FALSE(product(Fault::wrong_swizzle, 1, false).right);
  EXPECT_FALSE(product(Fault::no_wait_group, 1, false).right);
  EXPECT_FALSE(product(Fault::too_few_bytes, 1, false).right);
}

Outcome stored(StoreFault fault) {
  const auto run = of_module<void (*)(int, float*)>("hopper_store");
  if (run == nullptr) return {};
  std::vector<float> c(16 * 32);
  simt::Session session({.traced = true, .seed = 3});
  run(int(fault), c.data());
  Outcome o;
  o.findings = session.findings();
  o.right = true;
  for (int k = 0; k < 512; ++k) o.right = o.right && c[size_t(k)] == float(k / 256 * 1000 + k % 256);
  return o;
}

TEST(Hopper, StoresByTmaNeedAFenceABarrierAndWaits) {
  const Outcome right = stored(StoreFault::none);
  EXPECT_TRUE(right.right);
  EXPECT_TRUE(right.findings.empty()) << right.all();
  EXPECT_TRUE(stored(StoreFault::no_fence).has(Kind::missing_wait, "no fence.proxy.async behind the write"));
  const Outcome alone = stored(StoreFault::no_barrier);
  EXPECT_TRUE(alone.has(Kind::shared_race) || alone.has(Kind::uninitialized)) << alone.all();
  const Outcome early = stored(StoreFault::no_wait);
  EXPECT_TRUE(early.has(Kind::shared_race, "cp.async.bulk.wait_group")) << early.all();
  EXPECT_FALSE(early.right);
  EXPECT_TRUE(stored(StoreFault::no_wait_at_end).has(Kind::missing_wait, "before this copy has read"));
}

TEST(Hopper, BoxesOfOneToThreeDimensionsLieSwizzledAndFilledWithZeros) {
  const auto run =
      of_module<void (*)(int, int, const uint64_t*, const uint64_t*, const uint32_t*, const unsigned char*,
                         size_t, const int*, unsigned char*, unsigned)>("hopper_fetch");
  ASSERT_TRUE(run) << dlerror();
  constexpr uint64_t sizes[] = {144, 10, 3}, strides[] = {144, 1440};
  std::vector<unsigned char> tensor(144 * 10 * 3);
  for (size_t k = 0; k < tensor.size(); ++k) tensor[k] = static_cast<unsigned char>(1 + k % 251);
  for (const int rank : {1, 2, 3})
    for (const int swizzle : {0, 1, 2, 3}) {
      const uint32_t inner = 16U << swizzle, box[] = {inner, 8, 2};
      const int at[] = {96, -2, 2};
      const unsigned rows = rank == 1 ? 1 : rank == 2 ? 8 : 16, bytes = rows * inner;
      std::vector<unsigned char> got(bytes);
      simt::Session session({.traced = true});
      run(rank, swizzle, sizes, strides, box, tensor.data(), tensor.size(), at, got.data(), bytes);
      EXPECT_TRUE(session.findings().empty()) << session.findings()[0].describe();
      for (unsigned r = 0; r < rows; ++r)
        for (unsigned k = 0; k < inner; ++k) {
          const int x = at[0] + int(k), y = rank > 1 ? at[1] + int(r % 8) : 0,
                    z = rank > 2 ? at[2] + int(r / 8) : 0;
          const bool inside = x < 144 && y >= 0 && y < 10 && z < 3;
          const unsigned place = r * inner + k;
          const unsigned row_of_banks = place / 128 % 8, mask = (1U << swizzle) - 1;
          const unsigned there = place ^ (row_of_banks & mask) << 4;
          EXPECT_EQ(int(got[there]), inside ? int(tensor[size_t(x + 144 * y + 1440 * z)]) : 0)
              << rank << " " << swizzle << " " << r << " " << k;
        }
    }
}

TEST(Hopper, CountsTheSectorsOfFetchedBoxes) {
  const auto run = of_module<void (*)(int, int, const uint16_t*, const uint16_t*, float*)>("hopper_product");
  ASSERT_TRUE(run) << dlerror();
  std::vector<uint16_t> a(kM * 64 * kSteps), b(kN * 64 * kSteps);
  std::vector<float> c(kM * kN);
  simt::Session session({.traced = true});
  run(0, kSteps, a.data(), b.data(), c.data());
  int64_t requests = 0, bytes = 0, sectors = 0;
  for (const LineCounts& l : counts_by_line(session.profile()))
    if (kind_of(l) == "copy") {
      requests += l.counts.requests;
      bytes += l.counts.bytes;
      sectors += l.counts.sectors;
    }
  EXPECT_EQ(requests, 2 * kSteps);
  EXPECT_EQ(bytes, (kM + kN) * 128 * kSteps);
  EXPECT_EQ(sectors, (kM + kN) * 4 * kSteps);
}

TEST(Hopper, NamedBarriersOrderWarpsAndAreCounted) {
  const auto run = of_module<void (*)(int, int, int*)>("hopper_hand_over");
  ASSERT_TRUE(run) << dlerror();
  constexpr int kTurns = 5;
  const auto outcome = [&](NamedFault fault) {
    std::vector<int> out(kTurns * 32);
    simt::Session session({.traced = true, .seed = 2});
    Outcome o;
    try {
      run(int(fault), kTurns, out.data());
    } catch (const simt::Error&) {
      o.threw = true;
    }
    o.right = !o.threw;
    for (int k = 0; k < kTurns * 32; ++k) o.right = o.right && out[size_t(k)] == 2 * (k ^ 1);
    o.findings = session.findings();
    return o;
  };
  const Outcome right = outcome(NamedFault::none);
  EXPECT_TRUE(right.right);
  EXPECT_TRUE(right.findings.empty()) << right.all();
  EXPECT_FALSE(outcome(NamedFault::no_wait_for_full).findings.empty());
  EXPECT_TRUE(outcome(NamedFault::no_wait_for_empty).has(Kind::shared_race));
  EXPECT_TRUE(
      outcome(NamedFault::never_empty).has(Kind::deadlock, "32 of 64 threads have arrived at barrier 2"));
  const Outcome other = outcome(NamedFault::other_count);
  EXPECT_TRUE(other.has(Kind::barrier_misuse) || other.has(Kind::deadlock)) << other.all();
}

TEST(Hopper, RegistersOfWarpsMustFitAMultiprocessor) {
  const auto run = of_module<void (*)(int, int)>("hopper_registers");
  ASSERT_TRUE(run) << dlerror();
  const auto findings = [&](int first, int second) {
    simt::Session session({.traced = true});
    run(first, second);
    Outcome o;
    o.findings = session.findings();
    return o;
  };
  EXPECT_TRUE(findings(40, 232).findings.empty());
  EXPECT_TRUE(findings(40, 240).has(Kind::barrier_misuse, "66560 registers"));
  EXPECT_TRUE(findings(36, 232).has(Kind::barrier_misuse, "a multiple of 8"));
}

TEST(Hopper, BulkCopyByTheElectedLane) {
  const auto run = of_module<void (*)(int, const float*, float*)>("hopper_bulk");
  ASSERT_TRUE(run) << dlerror();
  std::vector<float> from(256), to(256);
  for (int k = 0; k < 256; ++k) from[size_t(k)] = float(k);
  {
    simt::Session session({.traced = true});
    run(200, from.data(), to.data());
    EXPECT_TRUE(session.findings().empty()) << session.findings()[0].describe();
    for (int k = 0; k < 200; ++k) EXPECT_EQ(to[size_t(k)], float(k));
  }
  simt::Session session({.traced = true});
  EXPECT_THROW(run(201, from.data(), to.data()), simt::Error);  // 804 bytes are no multiple of 16
  ASSERT_FALSE(session.findings().empty());
  EXPECT_EQ(session.findings()[0].kind, Kind::misaligned);
}

TEST(Hopper, TensorMapsAreRefusedAsTheDriverRefusesThem) {
  alignas(64) CUtensorMap map;
  alignas(16) static float memory[4096];
  cuuint64_t sizes[] = {64, 64, 1, 1, 1}, strides[] = {256, 16384, 16384, 16384};
  cuuint32_t box[] = {32, 8, 1, 1, 1}, steps[] = {1, 1, 1, 1, 1};
  simt::TensorTiling t{CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                       2,
                       memory,
                       sizes,
                       strides,
                       box,
                       steps,
                       CU_TENSOR_MAP_INTERLEAVE_NONE,
                       CU_TENSOR_MAP_SWIZZLE_128B,
                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE};
  const auto rule = [&] { return simt::encode_tiled(&map, t); };
  EXPECT_EQ(rule(), "");
  const auto broken = [&](auto& field, auto value, const std::string& word) {
    const auto before = field;
    field = static_cast<std::remove_reference_t<decltype(field)>>(value);
    EXPECT_NE(rule().find(word), std::string::npos) << word << ": " << rule();
    field = before;
  };
  broken(box[1], 257, "boxDim[1] is 257");
  broken(box[0], 33, "multiple of 16 bytes");
  broken(box[0], 64, "more than the swizzle of 128 bytes");
  broken(strides[0], 260, "globalStrides[0] is 260");
  broken(sizes[1], 0, "globalDim[1] is 0");
  broken(steps[1], 9, "elementStrides[1] is 9");
  broken(t.rank, 6, "tensorRank is 6");
  broken(t.address, static_cast<void*>(memory + 1), "globalAddress");
  broken(t.interleave, CU_TENSOR_MAP_INTERLEAVE_16B, "interleave");
  t.type = CU_TENSOR_MAP_DATA_TYPE_INT32;
  broken(t.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, "oobFill is NaN");
  t.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  EXPECT_EQ(rule(), "");
  // Pixels: 64 x 16 of 4 channels each.
  sizes[0] = 4, sizes[1] = 64, sizes[2] = 16, strides[0] = 16, strides[1] = 1024;
  t.rank = 3;
  int lower[] = {-1}, upper[] = {-1};
  simt::TensorPixels pixels{lower, upper, 4, 16};
  const auto pixel_rule = [&] { return simt::encode_im2col(&map, t, pixels); };
  EXPECT_EQ(pixel_rule(), "");
  pixels.channels = 3;
  EXPECT_NE(pixel_rule().find("channelsPerPixel is 3 elements of 4 bytes"), std::string::npos)
      << pixel_rule();
  pixels.channels = 4;
  pixels.pixels = 1025;
  EXPECT_NE(pixel_rule().find("pixelsPerColumn is 1025"), std::string::npos) << pixel_rule();
  pixels.pixels = 16;
  lower[0] = 1 << 15;
  EXPECT_NE(pixel_rule().find("pixelBoxLowerCorner[0] is 32768"), std::string::npos) << pixel_rule();
  lower[0] = 8, upper[0] = -57;
  EXPECT_NE(pixel_rule().find("no pixel in dimension 1"), std::string::npos) << pixel_rule();
  t.rank = 2;
  EXPECT_NE(pixel_rule().find("must be 3 to 5"), std::string::npos) << pixel_rule();
}

}  // namespace
}  // namespace klab
