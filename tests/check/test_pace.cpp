// What a CUDA rung costs the host beyond the usual sizes, told from parts of a size: what is fixed counts once.
#include "harness/check/pace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/core/registry.h"
#include "harness/simt/block_turns.h"
#include "harness/simt/session.h"
#include "reference/generator.h"

namespace klab {
namespace {

double extended(const std::function<double(double)>& work, double size,
                std::vector<double> at = {64, 1024, 16384}) {
  std::vector<WorkAtSize> measured;
  for (const double s : at) measured.push_back({s, work(s)});
  return work_beyond(measured, size);
}

TEST(Pace, CountsWhatIsFixedOnce) {
  EXPECT_EQ(extended([](double) { return 5000.0; }, 1 << 20), 5000);
  EXPECT_DOUBLE_EQ(extended([](double s) { return 300'000 + 2 * s; }, 1 << 20), 300'000 + 2.0 * (1 << 20));
}

TEST(Pace, ExtendsLinesAndPowers) {
  EXPECT_DOUBLE_EQ(extended([](double s) { return 3 * s; }, 1 << 20), 3.0 * (1 << 20));
  const double square = extended([](double s) { return s * s; }, 1 << 20);
  EXPECT_NEAR(square / 0x1p40, 1, 1e-6);
  const double with_log = extended([](double s) { return s * std::log2(s); }, 1 << 20);
  EXPECT_NEAR(with_log / (20.0 * (1 << 20)), 1, 0.2);
}

TEST(Pace, TakesTilesForWhatTheyAre) {
  for (const double tile : {32.0, 128.0, 1000.0}) {
    const auto work = [&](double s) { return 700 * std::ceil(s / tile); };
    for (const double size : {65537.0, 1048577.0}) {
      const double share =
          extended(work, size, {std::ceil(size / 16384), std::ceil(size / 1024), std::ceil(size / 64)}) /
          work(size);
      EXPECT_GT(share, 0.6) << tile << " " << size;
      EXPECT_LT(share, 1.7) << tile << " " << size;
    }
  }
}

TEST(Pace, OneMeasurementIsTakenForProportional) {
  EXPECT_EQ(work_beyond(std::vector<WorkAtSize>{{4, 100}}, 40), 1000);
  EXPECT_EQ(work_beyond({}, 40), 0);
}

double measured_work(const LabOp& op, const Variant& variant, const std::vector<int64_t>& shape,
                     int multiprocessors = 1) {
  const auto specs = op.op.tensors(shape);
  Tensors tensors(specs, Tensors::View::variant);
  Generator random(1);
  fill(op.op, shape, specs, tensors.pointers(), Pattern::random, op.huge, random);
  simt::Session session({.traced = false, .counts = false, .multiprocessors = multiprocessors});
  simt::reset_block_turns();
  variant.bind(shape, given_to(variant, specs, tensors.pointers()))();
  return double(session.work());
}

/// Covers kernels with a grid that fills the device, with a block for each part, and with a fixed cost for each block.
TEST(Pace, AgreesWithWhatRungsNeed) {
  int rungs = 0;
  for (const char* op_name : {"reduce", "axpy", "histogram", "transpose"})
    for (const Variant* v : variants_of(op_name, "cuda")) {
      if (v->peer || v->file.find("/kernels/") == v->file.npos) continue;
      const LabOp& op = *find_op(op_name);
      const std::vector<int64_t> shape =
          op.op.dims.size() == 1 ? std::vector<int64_t>{2'000'003} : std::vector<int64_t>{30'011, 3};
      PartInputs inputs(op);
      const HostWork foreseen = expected_host_work(op, *v, shape, 1e9, 1, inputs);
      const double work = measured_work(op, *v, shape);
      EXPECT_GT(foreseen.expected, work / 2) << v->id;
      EXPECT_LT(foreseen.expected, work * 2) << v->id;
      EXPECT_LT(foreseen.spent, work) << v->id;
      ++rungs;
    }
  EXPECT_GE(rungs, 8);
}

TEST(Pace, CountsTheBlocksThatThreadsJoin) {
  constexpr int64_t kTile = 4096;  // numbers a block of 256 threads
  const LabOp& op = *find_op("reduce");
  for (const char* id : {"reduce.cuda.02_two_kernels", "reduce.cuda.03_last_block"}) {
    const Variant* v = find_variant(id);
    ASSERT_NE(v, nullptr) << id;
    measured_work(op, *v, {8 * kTile});
    EXPECT_DOUBLE_EQ(simt::block_turns(), 8.0 / 256) << id;
    measured_work(op, *v, {9 * kTile});
    EXPECT_DOUBLE_EQ(simt::block_turns(), 8.0 / 256) << id << ": one multiprocessor holds eight blocks";
    measured_work(op, *v, {9 * kTile}, 2);
    EXPECT_DOUBLE_EQ(simt::block_turns(), 9.0 / 256) << id;
  }
  measured_work(*find_op("axpy"), *find_variant("axpy.cuda.01_naive"), {10'000});
  EXPECT_EQ(simt::block_turns(), 0) << "nothing joins them";
}

TEST(Pace, FindsASizeAtWhichJoiningThreadsTurn) {
  const LabOp& op = *find_op("reduce");
  const std::vector<int64_t> whole = {2'097'153};
  for (const char* id : {"reduce.cuda.02_two_kernels", "reduce.cuda.03_last_block"}) {
    const Variant* v = find_variant(id);
    ASSERT_NE(v, nullptr) << id;
    PartInputs inputs(op);
    const std::vector<int64_t> shape = shape_with_many_blocks(op, *v, whole, 1e9, inputs);
    ASSERT_EQ(shape.size(), 1U) << id;
    EXPECT_LT(shape[0], whole[0]) << id;
    measured_work(op, *v, shape, 0);
    EXPECT_GT(simt::block_turns(), 1) << id;
    EXPECT_TRUE(shape_with_many_blocks(op, *v, whole, 1e4, inputs).empty()) << id << ": it costs more";
  }
  PartInputs inputs(*find_op("axpy"));
  EXPECT_TRUE(
      shape_with_many_blocks(*find_op("axpy"), *find_variant("axpy.cuda.01_naive"), whole, 1e9, inputs)
          .empty())
      << "nothing joins its blocks";
}

TEST(Pace, EndsEarlyWhereItIsHopeless) {
  const Variant* v = find_variant("reduce.cuda.04_sixteen_bytes");
  ASSERT_NE(v, nullptr);
  const std::vector<int64_t> shape = {1'000'003};
  PartInputs inputs(*find_op("reduce"));
  const HostWork foreseen = expected_host_work(*find_op("reduce"), *v, shape, 3000, 1, inputs);
  EXPECT_GT(foreseen.expected, 3000);
  EXPECT_LT(foreseen.spent, measured_work(*find_op("reduce"), *v, shape) / 10);
}

}  // namespace
}  // namespace klab
