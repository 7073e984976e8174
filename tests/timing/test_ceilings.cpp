// Ceilings, rooflines, and the rows that are made of a ladder's times.
// ctest: serial
#include "harness/timing/ceilings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/core/buffers.h"
#include "harness/records/rows.h"
#include "harness/timing/bench.h"
#include "harness/timing/ceiling_kernels.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

/// One input and one output of n floats, one operation an element.
LabOp one_in_one_out() {
  LabOp entry;
  entry.op.name = "one_in_one_out";
  entry.op.dims = {"n"};
  entry.op.cost = [](ShapeView shape) { return Cost{8.0 * double(shape[0]), double(shape[0])}; };
  entry.op.tensors = [](ShapeView shape) {
    return std::vector<TensorSpec>{{"x", Role::input, Draw::real, {shape[0]}, Element::f32},
                                   {"y", Role::output, Draw::real, {shape[0]}, Element::f32}};
  };
  return entry;
}

TEST(Ceiling, LevelsByFootprint) {
  Machine m;
  m.caches = {{1, 32 << 10, 1}, {2, 1 << 20, 1}, {3, 32 << 20, 8}};
  EXPECT_EQ(level_of(m, 20 << 10, Cache::hot, 1), 1);
  EXPECT_EQ(level_of(m, 40 << 10, Cache::hot, 1), 2);
  EXPECT_EQ(level_of(m, 40 << 10, Cache::hot, 2), 1) << "two threads have two first-level caches";
  EXPECT_EQ(level_of(m, 3 << 20, Cache::hot, 2), 3);
  EXPECT_EQ(level_of(m, 40 << 20, Cache::hot, 8), 4) << "eight threads share one third-level cache";
  EXPECT_EQ(level_of(m, 20 << 10, Cache::cold, 1), 4);
}

TEST(Ceiling, AnOpsLimitChoosesItsRoof) {
  LabOp op = one_in_one_out();
  const BenchShape far{.name = "cold", .shape = {1000}, .cache = Cache::cold};
  op.limit = "fma";
  EXPECT_EQ(name_of(roof_of(op, far, 1).ceiling), "fma f32");
  EXPECT_EQ(roof_of(op, far, 1).work, 1000);
  op.limit = "copy";
  EXPECT_EQ(name_of(roof_of(op, far, 1).ceiling), "copy memory");
  EXPECT_EQ(roof_of(op, far, 1).work, 8000);
  EXPECT_EQ(name_of(roof_of(op, {.name = "hot", .shape = {1000}}, 1).ceiling), "copy L1");
  op.limit = "read";
  EXPECT_EQ(name_of(roof_of(op, far, 1).ceiling), "read memory");
  op.limit = "wishes";
  EXPECT_THROW(roof_of(op, far, 1), std::invalid_argument);
  ASSERT_NE(find_op("vector_add"), nullptr);
  EXPECT_EQ(name_of(roof_of(*find_op("vector_add"), far, 1).ceiling), "copy 2:1 memory")
      << "two reads for each write";
  ASSERT_NE(find_op("adam"), nullptr);
  EXPECT_EQ(
      name_of(roof_of(*find_op("adam"), {.name = "cold", .shape = {1000, 2, 0}, .cache = Cache::cold}, 1)
                  .ceiling),
      "update memory")
      << "written where it was read";
  op.limit = "update";
  EXPECT_EQ(name_of(roof_of(op, far, 1).ceiling), "update memory");
  ASSERT_NE(find_op("hashgrid_fwd"), nullptr);
  const BenchShape grid{.name = "hot", .shape = {1000, 3, 16, 2, 19, 16, 2048, 0}};
  const Roof reads = roof_of(*find_op("hashgrid_fwd"), grid, 1);
  EXPECT_EQ(reads.ceiling.working_set, (1 << 19) * 8) << "the largest level's table";
  ASSERT_EQ(reads.ceiling.tables.size(), 6U) << "five coarse levels, and the others are of one size";
  EXPECT_EQ(reads.ceiling.tables.front(), (TableShare{(1 << 12) * 8, 1.0 / 16}));
  EXPECT_EQ(reads.ceiling.tables.back().bytes, (1 << 19) * 8);
  EXPECT_NEAR(reads.ceiling.tables.back().share, 11.0 / 16, 1e-12);
  EXPECT_NEAR(reads.work, 1000 * 16 * 4.5 * 8, 1e-6) << "4.5 lines a point and level";
}

TEST(Ceiling, RooflineIsTheLowerOfTwo) {
  EXPECT_EQ(attainable(100, 0.25, 40), 10);
  EXPECT_EQ(attainable(100, 1000, 40), 100);
}

TEST(Ceiling, EachOneIsMeasuredAndPlausible) {
  const Ceilings& c = ceilings();
  const int all = this_machine().threads;
  for (const int threads : {1, all}) {
    const Ceiling* f32 = c.find(CeilingKind::fma_f32, 0, threads);
    ASSERT_NE(f32, nullptr);
    // No processor runs more than two 512-bit multiply-adds a cycle, nor much above 6 GHz.
    EXPECT_LE(f32->per_second, 2 * 16 * 2 * 6.5e9 * threads);
    EXPECT_GT(f32->per_second, 1e8);
    for (const CeilingKind kind : {CeilingKind::read, CeilingKind::copy, CeilingKind::copy_2_to_1,
                                   CeilingKind::update, CeilingKind::gather4, CeilingKind::gather8}) {
      const Ceiling* memory = c.find(kind, 4, threads);
      ASSERT_NE(memory, nullptr);
      EXPECT_GT(memory->per_second, 1e6) << name_of(*memory);
      EXPECT_LT(memory->per_second, 1e13) << name_of(*memory);
      EXPECT_FALSE(memory->method.empty());
    }
  }
  EXPECT_EQ(&c, &ceilings()) << "measured once a process";
  EXPECT_FALSE(c.not_measured.empty());
}

TEST(Ceiling, AnUpdateLeavesWhatWasThere) {
  Buffer memory(4 * 100000, 0);
  float* p = memory.as<float>();
  for (int64_t i = 0; i < 100000; ++i) p[i] = float(i);
  for (const CeilingLoop loop : {CeilingLoop::update, CeilingLoop::update_streams}) {
    const double bytes = run_ceiling_loop(loop, memory.as<std::byte>(), 400000, 3, nullptr);
    EXPECT_LE(bytes, 3 * 2 * 400000.0) << "each byte is read once and written once a repeat";
    EXPECT_GT(bytes, 2.9 * 2 * 400000.0);
    for (int64_t i = 0; i < 100000; ++i) ASSERT_EQ(p[i], float(i)) << i;
  }
}

/// A ladder of the registered vector_add whose times are made up.
struct MadeUp {
  const Lab* lab = lab_of("vector_add");
  Ladder ladder;
  MadeUp() {
    const auto list = variants_of("vector_add", "cpu");
    ladder.op = "vector_add";
    ladder.shape = {.name = "made up", .shape = {1000}};
    ladder.cost = {12000, 1000};
    ladder.threads = 2;
    ladder.cache = "hot";
    double seconds = 8e-6;
    for (const Variant* v : list) {
      Series s{.variant = v->id, .iterations = 1};
      for (int round = 0; round < 9; ++round)
        s.seconds.push_back(seconds * (1 + round));  // drifts, for all alike
      ladder.series.push_back(s);
      seconds /= 2;
    }
    ladder.ceiling = "copy memory";
    ladder.ceiling_work = 12000;
    for (int round = 0; round < 9; ++round) ladder.ceiling_per_second.push_back(12000 / (4e-6 * (1 + round)));
  }
};

TEST(Ceiling, ACopyGoesOverTheArraysItIsGiven) {
  const int64_t n = 100000;  // no multiple of a page
  for (const CeilingKind kind : {CeilingKind::copy, CeilingKind::copy_2_to_1}) {
    std::vector<Buffer> memory;
    std::vector<MoveOperands> arrays;
    for (int set = 0; set < 2; ++set) {
      for (int k = 0; k < 3; ++k) memory.emplace_back(4 * n, 0);
      float *a = memory[size_t(3 * set)].as<float>(), *b = memory[size_t(3 * set + 1)].as<float>(),
            *c = memory[size_t(3 * set + 2)].as<float>();
      for (int64_t i = 0; i < n; ++i) a[i] = float(i), b[i] = 2, c[i] = -1;
      arrays.push_back({a, kind == CeilingKind::copy ? nullptr : b, c, n});
    }
    size_t turn = 0;
    CeilingSampler sampler({.kind = kind, .level = 4, .threads = 2}, arrays, turn);
    EXPECT_GT(sampler.sample(0.01), 1e8);
    EXPECT_GE(turn, 2U) << "passes are counted where others count theirs";
    const float more = kind == CeilingKind::copy ? 0 : 2;
    for (const MoveOperands& set : arrays)
      for (int64_t i = 0; i < n / 1024 * 1024; ++i) ASSERT_EQ(set.c[i], set.a[i] + more) << i;
  }
}

TEST(Ceiling, RandomReadsFallIntoSeveralTables) {
  const std::vector<TableShare> tables = {{4096, 0.25}, {1 << 16, 0.75}};
  for (const CeilingKind kind : {CeilingKind::gather4, CeilingKind::gather8}) {
    const Ceiling which{.kind = kind, .level = 4, .working_set = 1 << 16, .tables = tables, .threads = 2};
    // Where a machine hides its caches, the small table is in memory, too.
    const int nearest = level_of(this_machine(), 4096, Cache::hot, 1);
    EXPECT_EQ(name_of(which),
              fmt::format("{} {}memory", name_of(kind), nearest < 4 ? level_name(nearest) + " to " : ""));
    EXPECT_GT(CeilingSampler(which).sample(0.005), 1e6);
  }
}

TEST(RowsOf, SpeedupsAreTakenWithinRounds) {
  const MadeUp m;
  const auto rows = rows_of(*m.lab, m.ladder, this_machine());
  ASSERT_GE(rows.size(), 2U);
  EXPECT_FALSE(rows[0].over_naive.has_value());
  ASSERT_TRUE(rows[1].over_naive.has_value());
  EXPECT_DOUBLE_EQ(rows[1].over_naive->low, 2);
  EXPECT_DOUBLE_EQ(rows[1].over_naive->high, 2);
  EXPECT_GT(rows[1].time.high / rows[1].time.low, 2);
  EXPECT_EQ(rows[0].shape, "n=1000");
  EXPECT_EQ(rows[0].lab, m.lab->id);
  EXPECT_EQ(rows[0].fingerprint, fingerprint(this_machine()));
}

TEST(RowsOf, AboveTheCeilingIsAnErrorAndAtItIsNot) {
  const MadeUp m;
  const auto rows = rows_of(*m.lab, m.ladder, this_machine());
  EXPECT_DOUBLE_EQ(rows[0].of_ceiling->value, 0.5);
  EXPECT_EQ(rows[0].error, "");
  EXPECT_DOUBLE_EQ(rows[1].of_ceiling->value, 1);
  EXPECT_EQ(rows[1].error, "");
  Ladder faster = m.ladder;
  for (double& t : faster.series[1].seconds) t /= 1.2;
  EXPECT_EQ(rows_of(*m.lab, faster, this_machine())[1].error, "above its ceiling: measurement error");
}

TEST(RowsOf, PredictionsAreJudgedByTheInterval) {
  MadeUp m;
  const Variant* v = find_variant("vector_add.cpu.02_simd");
  ASSERT_NE(v, nullptr);
  ASSERT_FALSE(v->expect.shape.empty());
  const double asked = v->expect.over_parent;
  const auto verdict = [&](double factor, double noise) {
    m.ladder.shape.shape = v->expect.shape;
    const Series* parent = nullptr;
    for (Series& s : m.ladder.series)
      if (s.variant == v->parent) parent = &s;
    for (Series& s : m.ladder.series)
      if (s.variant == v->id)
        for (size_t i = 0; i < s.seconds.size(); ++i)
          s.seconds[i] = parent->seconds[i] / (asked * factor * (1 + noise * (double(i) - 4)));
    for (const Row& r : rows_of(*m.lab, m.ladder, this_machine()))
      if (r.variant == v->id) return r.verdict;
    return std::string("none");
  };
  EXPECT_EQ(verdict(1.5, 0.01), "held");
  EXPECT_EQ(verdict(0.5, 0.01), "not held");
  EXPECT_EQ(verdict(1.0, 0.02), "undecided");
  m.ladder.shape.shape = {v->expect.shape[0] + 1};
  for (const Row& r : rows_of(*m.lab, m.ladder, this_machine())) EXPECT_EQ(r.verdict, "") << "not its shape";
}

TEST(RowsOf, SkippedAndWrongKeepTheirReasons) {
  MadeUp m;
  m.ladder.series[0].seconds.clear();
  m.ladder.series[0].skipped = "too slow";
  m.ladder.series[1].seconds.clear();
  m.ladder.series[1].wrong = "wrong value in c[7]";
  const auto rows = rows_of(*m.lab, m.ladder, this_machine());
  EXPECT_EQ(rows[0].skipped, "too slow");
  EXPECT_EQ(rows[1].wrong, "wrong value in c[7]");
  EXPECT_TRUE(rows[1].seconds.empty());
}

}  // namespace
}  // namespace klab
