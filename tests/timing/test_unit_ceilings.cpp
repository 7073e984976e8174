// Ceilings of units for narrow products: what rungs and libraries are held against, and in which operations rates are counted.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/cli/ladder_text.h"
#include "harness/core/tile_unit.h"
#include "harness/records/rows.h"
#include "harness/timing/unit_ceilings.h"

namespace klab {
namespace {

constexpr double kFloat = 1e11;  // multiply-adds of float, FLOP/s

/// A made-up ladder of a product of 1024 x 1024 x 1024: the first rung takes a second, the other one `seconds`.
Ladder ladder_of(const std::string& op, const std::string& rung, double seconds) {
  Ladder l;
  l.op = op;
  l.shape = {.name = "made up", .shape = {1024, 1024, 1024}};
  l.cost = find_op(op)->op.cost(l.shape.shape);
  l.threads = 3;
  l.cache = "hot";
  l.ceiling = "fma f32";
  l.ceiling_work = l.cost.flops / l.cost.flops_per_lane;
  l.resources = {{"fma f32", l.ceiling_work / kFloat}, {"copy 2:1 L2", 1e-9}};
  l.series = {{.variant = op + ".cpu.01_naive"}, {.variant = op + ".cpu." + rung}};
  for (int i = 0; i < 9; ++i) {
    l.ceiling_per_second.push_back(kFloat);
    l.series[0].seconds.push_back(1);
    l.series[1].seconds.push_back(seconds);
  }
  return l;
}

std::vector<UnitCeiling> ceilings_of(Factors factors, double dot, double tiles) {
  std::vector<UnitCeiling> list;
  if (dot > 0) list.push_back({factors, ProductUnit::dot, 3, dot, "dots", ""});
  if (tiles > 0) list.push_back({factors, ProductUnit::tiles, 3, tiles, "tiles", ""});
  return list;
}

/// The row of a rung whose time is that of `rate` operations per second.
Row row_at(const std::string& op, const std::string& rung, double rate) {
  const double flops = find_op(op)->op.cost(std::vector<int64_t>{1024, 1024, 1024}).flops;
  return rows_of(*lab_of(op), ladder_of(op, rung, flops / rate), this_machine())[1];
}

TEST(UnitCeilings, HoldsTileRungsAgainstTiles) {
  for (const auto& [op, rung, factors] : {std::tuple{"matmul_bf16", "07_amx_threads", Factors::bf16},
                                          std::tuple{"matmul_int8", "08_amx_threads", Factors::int8}}) {
    const GivenUnitCeilings given(ceilings_of(factors, 4 * kFloat, 40 * kFloat));
    const Row fast = row_at(op, rung, 30 * kFloat);
    EXPECT_EQ(fast.error, "");
    EXPECT_TRUE(fast.ceiling.starts_with("tiles ")) << fast.ceiling;
    ASSERT_TRUE(fast.of_ceiling);
    EXPECT_NEAR(fast.of_ceiling->value, 0.75, 1e-9);
    EXPECT_DOUBLE_EQ(fast.ceiling_per_second, 40 * kFloat);
    ASSERT_EQ(fast.resources.size(), 2U);
    EXPECT_EQ(fast.resources[0].ceiling, fast.ceiling);
    EXPECT_TRUE(is_refused(row_at(op, rung, 50 * kFloat))) << "above its own ceiling";
    EXPECT_EQ(row_at(op, rung, 44 * kFloat).error, "above its ceiling: measurement error");
  }
}

TEST(UnitCeilings, HoldsVectorRungsAgainstDotProducts) {
  const GivenUnitCeilings given(ceilings_of(Factors::int8, 4 * kFloat, 40 * kFloat));
  const Row row = row_at("matmul_int8", "05_threads", 3 * kFloat);
  EXPECT_EQ(row.ceiling, "dot int8");
  EXPECT_NEAR(row.of_ceiling->value, 0.75, 1e-9);
  EXPECT_TRUE(is_refused(row_at("matmul_int8", "05_threads", 6 * kFloat))) << "its unit is not the tiles'";
}

TEST(UnitCeilings, HoldsFloatAgainstSlowDotProducts) {
  const GivenUnitCeilings given(ceilings_of(Factors::bf16, 0.5 * kFloat, 0));
  const Row row = row_at("matmul_bf16", "02_loop_order", 0.9 * kFloat);
  EXPECT_EQ(row.ceiling, "fma f32");
  EXPECT_NEAR(row.of_ceiling->value, 0.9, 1e-9);
}

TEST(UnitCeilings, BoundsFormatsWithoutInstructionsByLanes) {
  const GivenUnitCeilings given({});
  const Row row = row_at("matmul_int8", "03_simd", 2 * kFloat);
  EXPECT_EQ(row.ceiling, "fma f32");
  EXPECT_NEAR(row.of_ceiling->value, 0.5, 1e-9);
  EXPECT_TRUE(is_refused(row_at("matmul_int8", "03_simd", 5 * kFloat)));
}

TEST(UnitCeilings, NamesTheUnknownUnitOfALibrary) {
  if (find_variant("matmul_int8.cpu.91_onednn") == nullptr) GTEST_SKIP() << "built without oneDNN";
  const GivenUnitCeilings given(ceilings_of(Factors::int8, 4 * kFloat, 0));
  const double flops = find_op("matmul_int8")->op.cost(std::vector<int64_t>{1024, 1024, 1024}).flops;
  const Ladder ladder = ladder_of("matmul_int8", "91_onednn", flops / (6 * kFloat));
  const auto rows = rows_of(*lab_of("matmul_int8"), ladder, this_machine());
  EXPECT_EQ(rows[1].error, "");
  EXPECT_FALSE(is_refused(rows[1]));
  EXPECT_EQ(rows[1].ceiling, "unknown: above dot int8");
  EXPECT_FALSE(rows[1].of_ceiling);
  EXPECT_TRUE(rows[0].over_peer) << "it is the peer to compare with";
  const std::string text = ladder_text(ladder, rows);
  EXPECT_NE(text.find("faster than dot int8: the ceiling of the unit that it uses is unknown"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("measurement error"), std::string::npos) << text;
  EXPECT_EQ(row_at("matmul_int8", "91_onednn", 3 * kFloat).ceiling, "dot int8") << "slower ones have a share";
}

TEST(UnitCeilings, CountsTheOperationsOfTheOp) {
  // 2 * 1024^3 products and sums, and 2 * 1024^2 for the scales, in 10 ms.
  const GivenUnitCeilings given(ceilings_of(Factors::int8, 4 * kFloat, 0));
  const Ladder ladder = ladder_of("matmul_int8", "05_threads", 0.01);
  const std::string text = ladder_text(ladder, rows_of(*lab_of("matmul_int8"), ladder, this_machine()));
  EXPECT_NE(text.find("GOP/s"), std::string::npos) << text;
  EXPECT_NE(text.find(" 215 "), std::string::npos) << text;
  EXPECT_NE(text.find("54% dot "), std::string::npos) << text;
  EXPECT_EQ(giga_unit_of("dot int8"), "GOP/s");
  EXPECT_EQ(giga_unit_of("tiles bf16"), "GFLOP/s");
}

TEST(UnitCeilings, KeepOneNameWhereFloatIsAsFast) {
  for (const double dot : {0.95 * kFloat, 1.05 * kFloat}) {
    const GivenUnitCeilings given(ceilings_of(Factors::bf16, dot, 0));
    const Row row = row_at("matmul_bf16", "02_loop_order", 0.5 * kFloat);
    EXPECT_EQ(row.ceiling, "dot bf16");
    EXPECT_DOUBLE_EQ(row.ceiling_per_second, std::max(dot, kFloat)) << "whichever is faster bounds it";
  }
}

TEST(UnitCeilings, StandInTheRecordOfCeilingsWhereMeasured) {
  const auto names = [](const Ceilings& c) {
    std::string list;
    const auto j = to_json(c);
    for (const auto& entry : j["measured"])
      list += entry["name"].get<std::string>() + " " + entry["unit"].get<std::string>() + "; ";
    return list;
  };
  Ceilings some;
  some.list.push_back({.kind = CeilingKind::fma_f32, .threads = 3, .per_second = kFloat});
  {
    const GivenUnitCeilings given(ceilings_of(Factors::int8, 4 * kFloat, 40 * kFloat));
    EXPECT_EQ(names(some), "fma f32 FLOP/s; dot int8 OP/s; tiles int8 OP/s; ");
    EXPECT_EQ(names({}), "") << "nothing was measured for a GPU's ladder";
  }
  const GivenUnitCeilings none({});
  EXPECT_EQ(names(some), "fma f32 FLOP/s; ");
}

TEST(UnitCeilings, AreMeasuredOrSayWhyNot) {
  for (const Factors factors : {Factors::bf16, Factors::int8})
    for (const ProductUnit unit : {ProductUnit::dot, ProductUnit::tiles}) {
      const UnitCeiling c = unit_ceiling(factors, unit, 1);
      EXPECT_EQ(c.per_second > 0, c.missing.empty()) << name_of(c);
      if (unit == ProductUnit::tiles && tile_unit().state != TileUnit::State::usable) {
        EXPECT_EQ(c.per_second, 0);
      }
      if (c.per_second == 0) continue;
      EXPECT_FALSE(c.method.empty());
      EXPECT_GT(c.per_second, 1e9) << name_of(c);
      // At most two instructions of 512 bits, or a tile's 16 rows of them in 16 cycles, at 6.5 GHz.
      const double an_instruction = factors == Factors::bf16 ? 64 : 128;
      EXPECT_LT(c.per_second, (unit == ProductUnit::dot ? 2 : 16) * an_instruction * 6.5e9) << name_of(c);
      raise_unit_ceilings(1);
      EXPECT_GE(unit_ceiling(factors, unit, 1).per_second, c.per_second) << "only raised";
      EXPECT_FALSE(holds_tiles());
    }
}

}  // namespace
}  // namespace klab
