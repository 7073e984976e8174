// Ceilings, rooflines, and the rows that are made of a ladder's times.
// ctest: serial
#include "harness/timing/ceilings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "harness/core/buffers.h"
#include "harness/records/rows.h"
#include "harness/timing/bench.h"
#include "harness/timing/ceiling_kernels.h"
#include "harness/timing/machine.h"
#include "harness/timing/statistics.h"
#include "harness/timing/unit_ceilings.h"
#include "tests/timing/bench_ops.h"
#include "tests/timing/op_needs.h"

namespace klab {
namespace {

/// One input and one output of n floats, one operation per element.
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

/// The roof of that kind; work 0 where the op does not need it.
Roof roof_of(const LabOp& op, const BenchShape& shape, CeilingKind kind) {
  for (const Roof& roof : roofs_of(op, shape, 1))
    if (roof.ceiling.kind == kind) return roof;
  return {};
}

std::vector<std::string> names_of_roofs(const LabOp& op, const BenchShape& shape) {
  std::vector<std::string> names;
  for (const Roof& roof : roofs_of(op, shape, 1)) names.push_back(name_of(roof.ceiling));
  return names;
}

TEST(Ceiling, AnOpsResourcesAreItsRoofs) {
  using Names = std::vector<std::string>;
  LabOp op = one_in_one_out();
  const BenchShape far{.name = "cold", .shape = {1000}, .cache = Cache::cold};
  EXPECT_TRUE(roofs_of(op, far, 1).empty()) << "its traffic is unknown";
  op.traffic = Traffic::copy;
  EXPECT_EQ(names_of_roofs(op, far), (Names{"fma f32", "copy memory"}));
  EXPECT_EQ(roof_of(op, far, CeilingKind::fma_f32).work, 1000);
  EXPECT_EQ(roof_of(op, far, CeilingKind::copy).work, 8000);
  EXPECT_EQ(names_of_roofs(op, {.name = "hot", .shape = {1000}}), (Names{"fma f32", "copy L1"}));
  op.traffic = Traffic::read;
  EXPECT_EQ(names_of_roofs(op, far), (Names{"fma f32", "read memory"}));
  op.traffic = Traffic::update;
  EXPECT_EQ(names_of_roofs(op, far), (Names{"fma f32", "update memory"}));
  op.op.cost = [](ShapeView shape) {
    const double n = double(shape[0]);
    return Cost{.bytes = 8 * n, .transcendentals = 2 * n, .divisions = 3 * n, .roots = n};
  };
  EXPECT_EQ(names_of_roofs(op, far),
            (Names{"transcendental f32", "division f32", "root f32", "update memory"}));
  EXPECT_EQ(roof_of(op, far, CeilingKind::transcendental).work, 2000);
  EXPECT_EQ(roof_of(op, far, CeilingKind::division).work, 3000);
  EXPECT_EQ(roof_of(op, far, CeilingKind::root).work, 1000);
  EXPECT_TRUE(roofs_of(op, {.name = "none", .shape = {0}}, 1).empty()) << "nothing to do";
  ASSERT_NE(find_op("vector_add"), nullptr);
  EXPECT_EQ(names_of_roofs(*find_op("vector_add"), far), (Names{"fma f32", "copy 2:1 memory"}))
      << "two reads for each write";
  ASSERT_NE(find_op("adam"), nullptr);
  EXPECT_EQ(names_of_roofs(*find_op("adam"), {.name = "cold", .shape = {1000, 2, 0}, .cache = Cache::cold}),
            (Names{"fma f32", "division f32", "root f32", "update memory"}))
      << "written where it was read";
  ASSERT_NE(find_op("hashgrid_fwd"), nullptr);
  const BenchShape grid{.name = "hot", .shape = {1000, 3, 16, 2, 19, 16, 2048, 0}};
  const Roof reads = roof_of(*find_op("hashgrid_fwd"), grid, CeilingKind::gather8);
  EXPECT_EQ(reads.ceiling.working_set, (1 << 19) * 8) << "the largest level's table";
  ASSERT_EQ(reads.ceiling.tables.size(), 6U) << "five coarse levels, and the others are of one size";
  EXPECT_EQ(reads.ceiling.tables.front(), (TableShare{(1 << 12) * 8, 1.0 / 16}));
  EXPECT_EQ(reads.ceiling.tables.back().bytes, (1 << 19) * 8);
  EXPECT_NEAR(reads.ceiling.tables.back().share, 11.0 / 16, 1e-12);
  EXPECT_NEAR(reads.work, 1000 * 16 * 4.5 * 8, 1e-6) << "4.5 lines per point and level";
  EXPECT_EQ(roof_of(*find_op("hashgrid_fwd"), grid, CeilingKind::copy).work, 1000 * 4 * (3 + 32))
      << "positions and features move in order, the table does not";
}

TEST(EveryOp, HasWorkInTheResourcesThatItsContractNames) {
  const std::vector<Needs> needs = needs_of_ops();
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      const auto known = std::ranges::find(needs, op.op.name, &Needs::op);
      if (known == needs.end()) {
        ADD_FAILURE() << op.op.name << ": name what it needs besides bytes in tests/timing/op_needs.h";
        continue;
      }
      EXPECT_NE(op.traffic, Traffic::unknown) << op.op.name;
      std::set<CeilingKind> found;
      for (const BenchShape& shape : op.bench)
        for (const Roof& roof : roofs_of(op, shape, 1)) {
          EXPECT_GT(roof.work, 0) << op.op.name;
          found.insert(roof.ceiling.kind);
        }
      int in_order = 0;
      for (const CeilingKind kind : kMemoryCeilings)
        if (kind != CeilingKind::gather4 && kind != CeilingKind::gather8) in_order += int(found.erase(kind));
      EXPECT_GT(in_order, 0) << op.op.name << " moves bytes";
      EXPECT_EQ(found, std::set<CeilingKind>(known->kinds.begin(), known->kinds.end())) << op.op.name;
    }
}

TEST(Ceiling, TheLargestTimeBinds) {
  // Enough divisions that nothing else can bind, then few enough that the bytes do.
  LabOp op = lab_op<Only>();
  op.traffic = Traffic::copy;
  const Variant v = variant<Only>("01_x", [](const Only::Args<float>& x) { right(x); });
  const Variant* list[] = {&v};
  const BenchShape shape{.name = "small", .shape = {4096}};
  op.op.cost = [](ShapeView s) { return Cost{.bytes = 8.0 * double(s[0]), .divisions = 1e9}; };
  const Ladder many = bench(op, shape, list, quick_options());
  EXPECT_EQ(many.ceiling, "division f32");
  EXPECT_EQ(many.ceiling_work, 1e9);
  ASSERT_EQ(many.resources.size(), 2U);
  EXPECT_GT(many.resources[0].seconds, many.resources[1].seconds);
  EXPECT_FALSE(many.ceiling_per_second.empty());
  op.op.cost = [](ShapeView s) { return Cost{.bytes = 8.0 * double(s[0]), .divisions = 1}; };
  const Ladder few = bench(op, shape, list, quick_options());
  EXPECT_TRUE(few.ceiling.starts_with("copy")) << few.ceiling;
  ASSERT_EQ(few.resources.size(), 2U);
  EXPECT_EQ(few.resources[1].ceiling, "division f32");
}

TEST(Ceiling, RooflineIsTheLowerOfTwo) {
  EXPECT_EQ(attainable(100, 0.25, 40), 10);
  EXPECT_EQ(attainable(100, 1000, 40), 100);
}

TEST(Ceiling, OfMemoryIsTheQuickestSample) {
  // Another program had the memory to itself in all samples but one.
  const std::vector<double> samples = {6e9, 6.1e9, 5.9e9, 10e9, 6e9};
  EXPECT_DOUBLE_EQ(ceiling_of(4, samples), 10e9);
  EXPECT_DOUBLE_EQ(ceiling_of(1, samples), 10e9);
  EXPECT_DOUBLE_EQ(ceiling_of(0, samples), 6e9)
      << "of arithmetic: a clock that was raised for a moment is no rate";
  EXPECT_THROW(ceiling_of(4, {}), std::invalid_argument);
  EXPECT_THROW(ceiling_of(4, std::vector<double>{1, NAN}), std::invalid_argument);
}

TEST(Ceiling, EachOneIsMeasuredAndPlausible) {
  const Ceilings& c = ceilings();
  const int all = this_machine().threads;
  for (const int threads : {1, all}) {
    const Ceiling* f32 = c.find(CeilingKind::fma_f32, 0, threads);
    ASSERT_NE(f32, nullptr);
    // No processor runs more than two 512-bit multiply-adds per cycle, nor much above 6 GHz.
    EXPECT_LE(f32->per_second, 2 * 16 * 2 * 6.5e9 * threads);
    EXPECT_GT(f32->per_second, 1e8);
    for (const CeilingKind kind : {CeilingKind::transcendental, CeilingKind::division, CeilingKind::root}) {
      const Ceiling* values = c.find(kind, 0, threads);
      ASSERT_NE(values, nullptr);
      EXPECT_GT(values->per_second, 1e7) << name_of(kind);
      // A value takes at least two instructions of those whose peak is known: two FLOP each. Twice is for noise.
      EXPECT_LT(values->per_second, 2 * f32->per_second / 4) << name_of(kind);
      EXPECT_FALSE(values->method.empty());
    }
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
  for (const Factors factors : {Factors::bf16, Factors::int8})
    for (const ProductUnit unit : {ProductUnit::dot, ProductUnit::tiles}) {
      const UnitCeiling products = unit_ceiling(factors, unit, 1);
      const bool named = std::ranges::any_of(
          c.not_measured, [&](const std::string& why) { return why.starts_with(name_of(products) + ": "); });
      EXPECT_EQ(named, products.per_second == 0) << name_of(products);
    }
}

TEST(Ceiling, LoopsComputeTheFunctionsOfTheirNames) {
  constexpr int64_t kValues = 1024;
  Buffer memory(8 * kValues, 0);
  float *in = memory.as<float>(), *out = in + kValues;
  struct Expected {
    CeilingLoop loop;
    double (*value)(double);
    float from, to;
    double error;  // relative
  };
  const auto exponential = [](double x) { return std::exp(x); };
  const auto reciprocal = [](double x) { return 1 / x; };
  const auto root = [](double x) { return std::sqrt(x); };
  for (const Expected& e : {Expected{CeilingLoop::exp_f32, exponential, -80, 80, 4e-7},
                            Expected{CeilingLoop::divide_f32, reciprocal, 1, 2, 1e-7},
                            Expected{CeilingLoop::divide_estimate, reciprocal, 1, 2, 5e-7},
                            Expected{CeilingLoop::root_f32, root, 1, 2, 1e-7},
                            Expected{CeilingLoop::root_estimate, root, 1, 2, 5e-7}}) {
    for (int64_t i = 0; i < kValues; ++i) {
      in[i] = e.from + (e.to - e.from) * float(i) / float(kValues);
      out[i] = -1;
    }
    const double work = run_ceiling_loop(e.loop, memory.as<std::byte>(), 8 * kValues, 3, nullptr);
    EXPECT_EQ(work, 3 * kValues) << "a value for each argument a repeat";
    for (int64_t i = 0; i < kValues; ++i) {
      const double expected = e.value(double(in[i]));
      ASSERT_NEAR(out[i], expected, e.error * expected) << int(e.loop) << " of " << in[i];
    }
  }
}

/// Values per second of a plain loop over an array, the fastest of several tries.
template <class Function>
double plain_rate(Function f) {
  constexpr int kValues = 1024, kRepeats = 200;
  std::vector<float> in(kValues), out(kValues);
  for (int i = 0; i < kValues; ++i) in[size_t(i)] = 1 + float(i) / kValues;
  double best = 0;
  for (int attempt = 0; attempt < 9; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    for (int r = 0; r < kRepeats; ++r) {
      asm volatile("" : : "r"(in.data()), "r"(out.data()) : "memory");
      for (size_t i = 0; i < kValues; ++i) out[i] = f(in[i]);
    }
    asm volatile("" : : "r"(out.data()) : "memory");
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    best = std::max(best, double(kValues) * kRepeats / spent.count());
  }
  return best;
}

// Two figures of one moment, one of them with a margin of two: a delay of one delays the other.
TEST(Ceiling, APlainLoopDoesNotPassTheCeilingOfValues) {
  const auto ceiling_of = [](CeilingKind kind) {
    CeilingSampler sampler({.kind = kind, .level = 0, .working_set = 8192, .threads = 1});
    double best = 0;
    for (int i = 0; i < 9; ++i) best = std::max(best, sampler.sample(0.002));
    return best;
  };
  EXPECT_GT(2 * ceiling_of(CeilingKind::transcendental), plain_rate([](float x) { return std::exp(x); }));
  EXPECT_GT(2 * ceiling_of(CeilingKind::division), plain_rate([](float x) { return 1 / x; }));
  EXPECT_GT(2 * ceiling_of(CeilingKind::root), plain_rate([](float x) { return std::sqrt(x); }));
}

TEST(Ceiling, UnitsFollowFromNames) {
  EXPECT_EQ(giga_unit_of("fma f32"), "GFLOP/s");
  EXPECT_EQ(giga_unit_of("transcendental f32"), "Gvalues/s");
  EXPECT_EQ(giga_unit_of("root f32"), "Gvalues/s");
  for (const char* bytes : {"copy 2:1 memory", "gather 8 B L1 to L3", "read L2", ""})
    EXPECT_EQ(giga_unit_of(bytes), "GB/s") << bytes;
}

TEST(Ceiling, UpdatesKeepTheContent) {
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

}  // namespace
}  // namespace klab
