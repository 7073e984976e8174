// Checks in addition to the bound of each element: outputs as a whole, and the coverage of a check's inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/check/cases.h"
#include "harness/check/failure_text.h"
#include "harness/check/judge_output.h"
#include "harness/check/suspect.h"
#include "harness/core/element.h"
#include "harness/core/fill.h"
#include "reference/adam/adam.h"
#include "reference/generator.h"
#include "tests/mutants/mlp_fwd/fp8_network.h"

namespace klab {
namespace {

constexpr double kUnit = 0x1p-24;

/// Sums over n outputs of magnitude `size` each, which err by `error(i)`.
template <class Error>
ErrorSums sums_of_whole_output(int n, double size, Error error) {
  Generator random(1);
  std::normal_distribution<double> normal;
  ErrorSums s;
  for (int i = 0; i < n; ++i) {
    const double want = normal(random), e = error(want), got = want + e;
    s.error2 += e * e;
    s.reference2 += want * want;
    s.got2 += got * got;
    s.dot += got * want;
    s.magnitude2 += size * size;
    s.magnitude4 += size * size * size * size;
    s.error += e;
    s.magnitude += size;
    s.weighted += size * std::abs(want);
    ++s.count;
  }
  return s;
}

TEST(WholeOutput, IgnoresRoundingsOfEveryElement) {
  Generator random(2);
  std::uniform_real_distribution<double> unit(-1, 1);
  const Tolerance allowed = tolerance({}, 64, false, Element::f32);
  // Each of 64 terms of magnitude 1 rounded once.
  const auto s = sums_of_whole_output(1000, 8, [&](double) { return 8 * kUnit * unit(random); });
  EXPECT_FALSE(judge_output("y", s, allowed));
}

TEST(WholeOutput, NamesAGainOfOneInAThousand) {
  const Tolerance allowed = tolerance({}, 64, false, Element::f32);
  for (const double gain : {1.001, 0.999, -1.0}) {
    const auto failure =
        judge_output("y", sums_of_whole_output(1000, 8, [=](double y) { return (gain - 1) * y; }), allowed);
    ASSERT_TRUE(failure) << gain;
    EXPECT_EQ(failure->fault, Fault::whole_output);
    EXPECT_NE(failure->note.find("times what they should be"), std::string::npos) << failure->note;
  }
}

TEST(WholeOutput, ReportsCoarseElementsAsARelativeError) {
  Generator random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  const Tolerance allowed = tolerance({}, 64, false, Element::f32);
  const auto failure = judge_output(
      "y", sums_of_whole_output(1000, 8, [&](double y) { return y * 0x1p-9 * unit(random); }), allowed);
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->note.find("relative L2"), std::string::npos) << failure->note;
}

/// adam at that shape, and the results of a variant that rounds its gradients to `element`.
struct Rounded {
  const LabOp& op = *find_op("adam");
  std::vector<int64_t> shape = {2000, 2, 0};
  std::vector<TensorSpec> specs = op.op.tensors(shape);
  Generator random{5};
  Given given = make_given(op, shape, specs, Pattern::random, random);

  OutputBytes outputs(const char* rounded, Element element, double share) {
    Tensors x(specs, Tensors::View::reference), none(specs, Tensors::View::reference);
    copy_given(specs, given.inputs, x);
    for (size_t k = 0; k < specs.size(); ++k) {
      if (specs[k].name != rounded) continue;
      for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) {
        double& value = x[k].as<double>()[i];
        uint16_t bits = 0;
        store(element, &bits, 0, value);
        value += share * (load(element, &bits, 0) - value);
      }
    }
    op.op.reference(shape, x.pointers(), none.pointers());
    OutputBytes bytes;
    for (size_t k = 0; k < specs.size(); ++k) {
      if (specs[k].role == Role::input) continue;
      bytes.emplace_back(size_t(volume(specs[k].dims) * size_of(specs[k].element)));
      for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i)
        store(specs[k].element, bytes.back().data(), i,
              load(specs[k].element == Element::f32 ? Element::f64 : specs[k].element, x[k].data(), i));
    }
    return bytes;
  }
};

TEST(Suspects, NameInputAndFormat) {
  Rounded r;
  const Suspects suspects(r.op.op, r.shape, r.specs, r.given);
  EXPECT_FALSE(suspects.judge(r.outputs("", Element::f16, 0), {}));
  const auto half = suspects.judge(r.outputs("gradient", Element::f16, 1), {});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->what, "half-precision rounding of gradient");
  const auto bfloat = suspects.judge(r.outputs("gradient", Element::bf16, 1), {});
  ASSERT_TRUE(bfloat);
  EXPECT_EQ(bfloat->what, "bfloat16 rounding of gradient");
  EXPECT_FALSE(suspects.judge(r.outputs("gradient", Element::bf16, 1), {.unit = Unit::bf16}));
}

/// Roundings of a sum that runs stay in all that comes behind, and so does what the rounding of its input
/// changes: two walks that resemble each other by chance in some inputs of a hundred. Rounded to half
/// precision, 5003 weights change their sums no more than the sums themselves err; to bfloat16 they do, and
/// that is still named.
TEST(Suspects, DoNotTakeARunningSumForARounding) {
  const LabOp& op = *find_op("distortion_bwd");
  const Variant& rung = *find_variant("distortion_bwd.cpu.02_prefix");
  const std::vector<int64_t> shape = {1, 5003};
  const auto specs = op.op.tensors(shape);
  const auto outputs_at = [&](const Given& given, bool rounded) {
    Tensors x(specs, Tensors::View::variant);
    for (size_t k = 0; k < specs.size(); ++k) {
      std::copy_n(given.inputs[k].as<char>(), given.inputs[k].bytes(), x[k].as<char>());
      if (!rounded || specs[k].name != "weights") continue;
      for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) {
        float& value = x[k].as<float>()[i];
        uint16_t bits = 0;
        store(Element::bf16, &bits, 0, double(value));
        value = float(load(Element::bf16, &bits, 0));
      }
    }
    rung.bind(shape, x.pointers())();
    OutputBytes bytes;
    for (size_t k = 0; k < specs.size(); ++k)
      if (specs[k].role != Role::input) bytes.emplace_back(x[k].as<char>(), x[k].as<char>() + x[k].bytes());
    return bytes;
  };
  constexpr int kInputs = 60;
  int named = 0;
  for (int seed = 1; seed <= kInputs; ++seed) {
    Generator random(static_cast<uint64_t>(seed));
    const Given given = make_given(op, shape, specs, Pattern::random, random);
    const Suspects suspects(op.op, shape, specs, given);
    const auto failure = suspects.judge(outputs_at(given, false), {});
    EXPECT_FALSE(failure) << "seed " << seed << ": " << failure->what;
    named += suspects.judge(outputs_at(given, true), {}).has_value();
  }
  EXPECT_GT(named, kInputs * 3 / 4);
}

// Its specimens are rejected for their mistakes, not for their eight bits (tests/mutants/mlp_fwd).
TEST(EightBits, ANetworkWithoutAMistakePasses) {
  Variant right = *find_variant("mlp_fwd.cpu.72_fp8_sums");
  right.id = "mlp_fwd.cpu.79_fp8";
  right.bind = [](ShapeView shape, std::span<void* const> pointers) -> std::function<void()> {
    return [x = args_of<MlpFwd, float>(shape, pointers)] { fp8_network<Fp8Mistake::none>(x); };
  };
  const Variant* const one = &right;
  for (const uint64_t seed : {1, 2}) {
    const CheckResult result =
        check(*find_op("mlp_fwd"), {&one, 1}, {.seed = seed, .done = {}}).variants.front();
    EXPECT_GT(result.cases, 100);
    for (const Failure& f : result.failures) ADD_FAILURE() << "seed " << seed << ": " << failure_text(f);
  }
}

TEST(EightBits, HaveTheirOwnBound) {
  EXPECT_EQ(unit_roundoff(Unit::e4m3), 0x1p-4);
  EXPECT_EQ(unit_roundoff(Unit::e5m2), 0x1p-3);
  // Two roundings a product, and sums that are float: as many terms as one likes must not let any error pass.
  const Numerics bytes{.unit = Unit::e4m3};
  const double of_64 = tolerance(bytes, 64, false, Element::f32).bound(1, 0);
  EXPECT_GE(of_64, std::pow(1 + 0x1p-4, 2) - 1);
  EXPECT_LE(of_64, 1.01);
  EXPECT_GE(tolerance(bytes, 64, true, Element::f32).bound(1, 0), 1) << "a factor may be lost whole";
}

TEST(Inputs, WideOnesLeaveTheUsualHyperparameters) {
  const LabOp& op = *find_op("adam");
  const std::vector<int64_t> shape = {64, 4, 100};
  const auto specs = op.op.tensors(shape);
  Generator random(1);
  std::set<float> epsilons;
  int32_t most = 0;
  bool live = false, minus_zero = false;
  for (int k = 0; k < 20; ++k) {
    const Given given = make_given(op, shape, specs, Pattern::wide, random);
    epsilons.insert(given.inputs[0].as<float>()[Adam::epsilon]);
    for (int i = 0; i < 64; ++i) {
      const float g = given.inputs[1].as<float>()[i];
      live = live || g != 0;
      minus_zero = minus_zero || (g == 0 && std::signbit(g));
    }
    for (int i = 0; i < 16; ++i) most = std::max(most, given.inputs[5].as<int32_t>()[i]);
  }
  EXPECT_EQ(epsilons.size(), 20U);
  EXPECT_TRUE(live) << "though zero_percent is 100";
  EXPECT_TRUE(minus_zero);
  EXPECT_GT(most, 100'000);
}

TEST(Inputs, SpoiltOnesHaveNanAndInfinitiesWhereAllowed) {
  const std::vector<TensorSpec> specs = {{.name = "a", .dims = {500}}, {.name = "b", .dims = {500}}};
  Tensors t(specs, Tensors::View::variant);
  Generator random(1);
  fill(Op{}, {}, specs, t.pointers(), Pattern::not_finite, 1, random);
  const std::vector<std::string> nan = {"a"}, infinity = {"b"};
  plant_non_finite(specs, t.pointers(), nan, infinity, random);
  const auto count = [&](size_t k, auto what) {
    return std::count_if(t[k].as<float>(), t[k].as<float>() + 500, what);
  };
  const auto is_nan = [](float v) { return std::isnan(v); };
  const auto is_infinite = [](float v) { return std::isinf(v); };
  EXPECT_GE(count(0, is_nan), 1);
  EXPECT_EQ(count(0, is_infinite), 0);
  EXPECT_EQ(count(1, is_nan), 0);
  EXPECT_GE(count(1, is_infinite), 1);
}

TEST(Sizes, ExceedTheOrdinaryShapes) {
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      if (op.op.name.starts_with("probe_")) continue;
      int64_t largest = 0;  // that any dimension or tensor has, here or in the lab's own list
      for (const auto& sizes : op.check) largest = std::max(largest, *std::ranges::max_element(sizes));
      for (const auto& shape : shapes_beyond(op, 1)) {
        EXPECT_TRUE(op.op.valid(shape)) << op.op.name;
        EXPECT_LE(work(op.op, shape), 2e8) << shape_text(op.op, shape);
        largest = std::max(largest, *std::ranges::max_element(shape));
        for (const TensorSpec& t : op.op.tensors(shape)) {
          int64_t elements = 1;
          for (const int64_t d : t.dims) elements *= d;
          largest = std::max(largest, elements);
        }
      }
      EXPECT_GT(largest, 1 << 16) << op.op.name;
    }
}

TEST(Sizes, ExceedTheOrdinaryShapesAsMultiples) {
  for (const char* name : {"occupancy_choose", "occupancy_bits"}) {
    const auto shapes = shapes_beyond(*find_op(name), 1);
    EXPECT_TRUE(std::ranges::any_of(shapes, [](const auto& shape) { return shape[0] > 1 << 16; })) << name;
  }
}

}  // namespace
}  // namespace klab
