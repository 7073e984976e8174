// The parts of the value check: fences, patterns, shapes, bounds, and messages.
#include "harness/check/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <set>

#include "harness/check/cases.h"
#include "harness/check/compare.h"
#include "harness/check/turns.h"
#include "harness/core/element.h"
#include "harness/core/fill.h"
#include "reference/generator.h"

namespace klab {
namespace {

TEST(Buffers, FencesSeeOneByteOnEitherSide) {
  for (const int64_t misalign : {0, 4, 12})
    for (const int64_t bytes : {0, 4, 100}) {
      Buffer b(bytes, misalign);
      EXPECT_TRUE(b.intact(nullptr));
      std::string where;
      b.as<char>()[bytes] ^= 1;
      EXPECT_FALSE(b.intact(&where));
      EXPECT_EQ(where, "right behind its end");
      b.as<char>()[bytes] ^= 1;
      b.as<char>()[-1] ^= 1;
      EXPECT_FALSE(b.intact(&where));
      EXPECT_EQ(where, "1 byte before its beginning");
    }
}

TEST(Buffers, FencesAndPoisonAreNanAndAddingToAFenceShows) {
  for (int kin = 0; kin < 80; ++kin) {
    Buffer b(16, 4, kin);
    b.poison();
    for (const int64_t i : {-1, 0, 3, 4}) EXPECT_TRUE(std::isnan(b.as<float>()[i])) << i;
    for (const int64_t i : {-1, 0, 7, 8}) {
      EXPECT_TRUE(std::isnan(load(Element::f16, b.data(), i)));
      EXPECT_TRUE(std::isnan(load(Element::bf16, b.data(), i)));
    }
    volatile float* behind = b.as<float>() + 4;
    *behind = *behind + 1.F;
    EXPECT_FALSE(b.intact(nullptr));
  }
}

TEST(Buffers, BeginWhereTheyAreAskedTo) {
  const Buffer b(64, 12);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 64, 12U);
  const std::vector<int64_t> offsets = {1, 3};
  const std::vector<TensorSpec> specs = {{"a", Role::input, Draw::real, {5}, Element::f32},
                                         {"b", Role::input, Draw::real, {5}, Element::u8}};
  const Tensors t(specs, Tensors::View::variant, offsets);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t[0].data()) % 64, 4U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t[1].data()) % 64, 3U);
}

TEST(Elements, HalfRoundsToNearestEvenAndBack) {
  uint16_t bits = 0;
  const auto round = [&](double v) {
    store(Element::f16, &bits, 0, v);
    return load(Element::f16, &bits, 0);
  };
  for (uint32_t b = 0; b < 0x10000; ++b) {
    bits = uint16_t(b);
    const double v = load(Element::f16, &bits, 0);
    if (std::isnan(v)) continue;
    store(Element::f16, &bits, 0, v);
    EXPECT_EQ(bits, b);
  }
  EXPECT_EQ(round(1 + 0x1p-11), 1);
  EXPECT_EQ(round(1 + 3 * 0x1p-11), 1 + 0x1p-9);
  EXPECT_EQ(round(2047.5), 2048);
  EXPECT_EQ(round(65519), 65504);
  EXPECT_EQ(round(65520), INFINITY);
  EXPECT_EQ(round(0x1p-25), 0);
  EXPECT_EQ(round(1.5 * 0x1p-25), 0x1p-24);
  EXPECT_EQ(round(-0x1.FF8p-15), -0x1.FF8p-15);
  EXPECT_EQ(round(-0x1.FFCp-15), -0x1p-14);
  EXPECT_EQ(round(0x1.FFEp-15), 0x1p-14);
  EXPECT_TRUE(std::isnan(round(NAN)));
  store(Element::bf16, &bits, 0, 1 + 0x1p-8);
  EXPECT_EQ(load(Element::bf16, &bits, 0), 1);
  store(Element::bf16, &bits, 0, 1 + 3 * 0x1p-8);
  EXPECT_EQ(load(Element::bf16, &bits, 0), 1 + 0x1p-6);
}

TEST(Elements, IntegersAreClamped) {
  int8_t i = 0;
  store(Element::i8, &i, 0, -1000);
  EXPECT_EQ(i, -128);
  uint32_t u = 0;
  store(Element::u32, &u, 0, 4294967295.0);
  EXPECT_EQ(u, 4294967295U);
  int64_t l = 0;
  store(Element::i64, &l, 0, 0x1p63);
  EXPECT_EQ(l, INT64_MAX);
}

// One tensor of 8 by 6, filled.
std::vector<float> draw(Pattern pattern, Draw kind, size_t tensor = 0, uint64_t seed = 1) {
  std::vector<TensorSpec> specs;
  for (size_t k = 0; k <= tensor; ++k) specs.push_back({"t", Role::input, kind, {8, 6}, Element::f32});
  Tensors t(specs, Tensors::View::variant);
  Generator random(seed);
  fill(Op{}, {}, specs, t.pointers(), pattern, 1e15, random);
  return {t[tensor].as<float>(), t[tensor].as<float>() + 48};
}

TEST(Patterns, MatchTheirNames) {
  EXPECT_GT(std::ranges::max(draw(Pattern::huge, Draw::real)), 1e14);
  const auto constant = draw(Pattern::constant, Draw::real);
  EXPECT_EQ(std::ranges::count(constant, constant[0]), 48);
  for (const size_t tensor : {0, 1}) {
    const auto tiny = draw(Pattern::denormal, Draw::real, tensor);
    EXPECT_TRUE(std::ranges::any_of(tiny, [](float v) { return v != 0 && std::abs(v) < 0x1p-126F; }));
  }
  const auto cancelling = draw(Pattern::cancelling, Draw::real);
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 0; j + 1 < 6; ++j) {
      const float a = cancelling[size_t(i * 6 + j)], b = cancelling[size_t(i * 6 + j + 1)];
      EXPECT_LT(std::abs(a + b), 0.1F);
      EXPECT_GT(std::abs(a), 900.F);
    }
}

TEST(Patterns, UnitTensorsStayInTheirRangeAndReachItsEnds) {
  std::set<float> seen;
  for (const Pattern pattern : kPatterns)
    for (uint64_t seed = 1; seed < 6; ++seed)
      for (const float v : draw(pattern, Draw::unit, 0, seed)) {
        EXPECT_GE(v, 0.F);
        EXPECT_LT(v, 1.F);
        seen.insert(v);
      }
  EXPECT_TRUE(seen.contains(0.F));
  EXPECT_TRUE(seen.contains(0x1.fffffep-1F));
}

TEST(Patterns, EqualSeedsGiveEqualInputs) {
  for (const Pattern pattern : kPatterns) {
    EXPECT_EQ(draw(pattern, Draw::real, 0, 5), draw(pattern, Draw::real, 0, 5));
    EXPECT_NE(draw(Pattern::random, Draw::real, 0, 5), draw(Pattern::random, Draw::real, 0, 6));
  }
}

TEST(Shapes, EveryTileAndItsNeighborsAppearInEveryDimension) {
  const LabOp& op = *find_op("probe_matmul");
  const std::vector<int64_t> tiles = {12, 48};
  const auto shapes = check_shapes(op, tiles, 1);
  EXPECT_EQ(shapes, check_shapes(op, tiles, 1));
  std::set<int64_t> wanted(op.check[0].begin(), op.check[0].end());
  for (const int64_t t : tiles) wanted.insert({t - 1, t, t + 1});
  double total = 0;
  for (size_t d = 0; d < 3; ++d) {
    std::set<int64_t> seen;
    for (const auto& s : shapes) seen.insert(s[d]);
    for (const int64_t w : wanted) EXPECT_TRUE(seen.contains(w)) << w << " in dimension " << d;
  }
  bool alike = false, unequal = false;
  for (const auto& s : shapes) {
    EXPECT_LE(op.op.cost(s).flops, op.check_flops * 1.01);
    total += work(op.op, s);
    alike = alike || (s[0] == 48 && s[1] == 48 && s[2] == 48);
    unequal = unequal || (s[0] >= 100 && s[1] == 1 && s[2] == 1);
  }
  EXPECT_TRUE(alike);
  EXPECT_TRUE(unequal);
  EXPECT_LT(total, 2e8);
  // Empty shapes are tried, and are not most of it.
  const auto empty =
      std::ranges::count_if(shapes, [](const auto& s) { return std::ranges::count(s, 0) > 0; });
  EXPECT_GT(empty, 2);
  EXPECT_LT(empty, int64_t(shapes.size()) / 3);
}

TEST(Shapes, ToTryThreadsAtAreTheCheapestWorthDividingOrElseTheLargest) {
  EXPECT_LT(divided_shape(1000), divided_shape(1001));
  EXPECT_LT(divided_shape(1e18), divided_shape(999));
  EXPECT_LT(divided_shape(999), divided_shape(998));
  EXPECT_LT(divided_shape(2), divided_shape(1));
}

TEST(Shapes, AskedOnesAreHeldToTheContract) {
  const LabOp& op = *find_op("probe_matmul");
  EXPECT_THROW(check(op, {}, {.shape = {1, 2}}), std::invalid_argument);
  EXPECT_THROW(check(op, {}, {.shape = {1, 2, -3}}), std::invalid_argument);
}

TEST(Bounds, FollowFromTheArithmetic) {
  const double u = 0x1p-24;
  EXPECT_NEAR(linear_growth(1000, u), 1000, 0.1);
  EXPECT_GT(linear_growth(1000, u), 1000);
  EXPECT_NEAR(sqrt_growth(10000, u), 400, 1);
  EXPECT_LE(sqrt_growth(3, u), linear_growth(3, u));
  for (const double coarse : {0x1p-11, 0x1p-8})  // n·u above 1
    EXPECT_TRUE(std::isfinite(linear_growth(1e6, coarse)) && linear_growth(1e6, coarse) > 1e6) << coarse;
  const Tolerance random = tolerance({}, 10000, false, Element::f32),
                  hard = tolerance({}, 10000, true, Element::f32);
  EXPECT_NEAR(hard.bound(1, 0) / random.bound(1, 0), 25, 0.1);
  EXPECT_NEAR(tolerance({.growth = Growth::linear}, 10000, false, Element::f32).bound(1, 0), hard.bound(1, 0),
              1e-12);
  EXPECT_TRUE(tolerance({}, 0, false, Element::f32).exact);
  EXPECT_TRUE(tolerance({}, 5, false, Element::i32).exact);
  EXPECT_GE(tolerance({}, 1, true, Element::f32).bound(0, 0), 0x1p-149);
}

// One row of results against references, magnitude 1.
Comparison compare_row(const std::vector<float>& got, const std::vector<double>& want, const Tolerance& t) {
  const TensorSpec spec{"y", Role::output, Draw::real, {int64_t(got.size())}, Element::f32};
  Buffer g(4 * volume(spec.dims), 0), r(8 * volume(spec.dims), 0), m(8 * volume(spec.dims), 0);
  std::copy(got.begin(), got.end(), g.as<float>());
  std::copy(want.begin(), want.end(), r.as<double>());
  std::fill_n(m.as<double>(), want.size(), 1.0);
  return compare(spec, g, r, m, t);
}

TEST(Comparing, NonFiniteFailsByNameAndIndexUnlessTheValueOverflows) {
  const Tolerance t = tolerance({}, 10, true, Element::f32);
  const float nan = std::nanf(""), inf = INFINITY;
  const Comparison c = compare_row({1, 2, nan}, {1, 3, 3}, t);
  ASSERT_TRUE(c.failure);
  EXPECT_EQ(c.failure->fault, Fault::non_finite);
  EXPECT_EQ(c.failure->tensor, "y");
  EXPECT_EQ(c.failure->index, "[2]");
  EXPECT_EQ(compare_row({inf}, {1}, t).failure->fault, Fault::non_finite);
  EXPECT_FALSE(compare_row({inf, -inf}, {1e39, -INFINITY}, t).failure);
  EXPECT_TRUE(compare_row({-inf}, {1e39}, t).failure);
  EXPECT_TRUE(compare_row({nan}, {NAN}, t).failure);  // a reference without an answer
  EXPECT_TRUE(compare_row({1}, {INFINITY}, t).failure);
}

TEST(Comparing, ExactMeansTheSameBits) {
  const Tolerance t = tolerance({}, 0, false, Element::f32);
  EXPECT_FALSE(compare_row({1, -0.F}, {1, -0.0}, t).failure);
  EXPECT_TRUE(compare_row({1 + 0x1p-23F}, {1}, t).failure);
  EXPECT_TRUE(compare_row({0.F}, {-0.0}, t).failure);
}

TEST(Comparing, HalfOutputsMayDifferByTheRoundingsOfBothSides) {
  const TensorSpec spec{"y", Role::output, Draw::real, {1}, Element::f16};
  Buffer g(2, 0), r(2, 0), m(2, 0);
  store(Element::f16, m.data(), 0, 1);
  store(Element::f16, r.data(), 0, 1);
  const Tolerance t = tolerance({}, 4, true, Element::f16);
  store(Element::f16, g.data(), 0, 1 + 0x1p-10);
  EXPECT_FALSE(compare(spec, g, r, m, t).failure);
  store(Element::f16, g.data(), 0, 1 + 3 * 0x1p-10);
  EXPECT_TRUE(compare(spec, g, r, m, t).failure);
}

TEST(Describing, NamesThePatternOfWrongElements) {
  EXPECT_EQ(describe_wrong({5}, {4, 6}), "1 of 24 elements is wrong");
  EXPECT_EQ(describe_wrong({6, 7, 8, 9, 10, 11}, {4, 6}), "6 of 24 elements are wrong: row 1");
  EXPECT_EQ(describe_wrong({5, 11, 17, 23}, {4, 6}), "4 of 24 elements are wrong: the last column");
  EXPECT_EQ(describe_wrong({4, 5, 10, 11, 16, 17, 22, 23}, {4, 6}),
            "8 of 24 elements are wrong: the last 2 columns");
  EXPECT_EQ(describe_wrong({1, 5, 9, 13}, {16}), "4 of 16 elements are wrong: every 4. index from 1");
  EXPECT_EQ(describe_wrong({0, 1, 2}, {3}), "all 3 elements are wrong");
  EXPECT_EQ(describe_wrong({1, 2, 9}, {4, 6}), "3 of 24 elements are wrong, in columns 1 to 3");
}

// A variant made on the spot.
Variant broken(const std::string& rung, std::function<void(ShapeView, std::span<void* const>)> run) {
  Variant v;
  v.op = "probe_matmul";
  v.backend = "cpu";
  v.rung = rung;
  v.id = "probe_matmul.cpu." + rung;
  v.supported = [](ShapeView, const Host&) { return std::string(); };
  v.bind = [run](ShapeView shape, std::span<void* const> pointers) -> std::function<void()> {
    return [=] { run(shape, pointers); };
  };
  return v;
}

TEST(Crashes, AreNamedByVariantShapeAndSignal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Variant v = broken("77_crashes", [](ShapeView, std::span<void* const>) { raise(SIGSEGV); });
  const Variant* list[] = {&v};
  EXPECT_DEATH(check(*find_op("probe_matmul"), list),
               "klab: SIGSEGV while checking probe_matmul.cpu.77_crashes at m=[0-9]+ n=[0-9]+ k=[0-9]+, "
               "random inputs");
}

TEST(Results, CountCheckedAndSkippedCases) {
  Variant v = broken("78_never", [](ShapeView, std::span<void* const>) {});
  v.supported = [](ShapeView, const Host&) { return std::string("needs a moon"); };
  const Variant* list[] = {&v};
  const CheckResult result = check(*find_op("probe_matmul"), list).variants[0];
  EXPECT_EQ(result.skipped, "needs a moon");
  EXPECT_GT(result.skipped_cases, 10);
  EXPECT_EQ(result.cases, 0);
  EXPECT_FALSE(result.passed());
}

TEST(Results, AFailureCarriesIndexValuesBoundAndInputs) {
  const Variant* v = find_variant("probe_matmul.cpu.12_tile_edge");
  ASSERT_NE(v, nullptr);
  const CheckResult result = check(*find_op("probe_matmul"), {&v, 1}, {.shape = {3, 25, 7}}).variants[0];
  ASSERT_EQ(result.failures.size(), 1U);
  const Failure& f = result.failures[0];
  EXPECT_EQ(f.tensor, "c");
  EXPECT_EQ(f.index, "[0,24]");
  EXPECT_EQ(f.fault, Fault::not_written);
  EXPECT_EQ(f.inputs, "m=3 n=25 k=7, random inputs");
  EXPECT_EQ(f.note, "3 of 75 elements were never written: the last column");
  EXPECT_TRUE(check(*find_op("probe_matmul"), {&v, 1}, {.shape = {3, 24, 7}}).variants[0].passed());
}

}  // namespace
}  // namespace klab
