// The gradient check itself: references that are wrong on purpose, kinks, limits.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/check/failure_text.h"
#include "harness/check/gradcheck.h"
#include "tests/mutants/probe_bend/probe_bend.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

// The op's own result, without variants.
CheckResult reference_of(const LabOp& op) {
  const OpCheck results = check(op, {});
  EXPECT_TRUE(results.variants.empty());
  return results.reference.value_or(CheckResult{});
}

LabOp wrong_matmul(void (*spoil)(const ProbeMatmulBwd::Args<double>&)) {
  LabOp op = *find_op("probe_matmul_bwd");
  op.op.reference = [spoil](ShapeView shape, std::span<void* const> x, std::span<void* const> magnitude) {
    const auto args = args_of<ProbeMatmulBwd, double>(shape, x);
    ProbeMatmulBwd::reference(args, args_of<ProbeMatmulBwd, double>(shape, magnitude));
    spoil(args);
  };
  return op;
}

LabOp wrong_bend(void (*spoil)(const ProbeBendBwd::Args<double>&)) {
  LabOp op = *find_op("probe_bend_bwd");
  op.op.reference = [spoil](ShapeView shape, std::span<void* const> x, std::span<void* const> magnitude) {
    const auto args = args_of<ProbeBendBwd, double>(shape, x);
    ProbeBendBwd::reference(args, args_of<ProbeBendBwd, double>(shape, magnitude));
    spoil(args);
  };
  return op;
}

void expect_reference_fault(const LabOp& op, const std::string& tensor) {
  const CheckResult result = reference_of(op);
  ASSERT_FALSE(result.failures.empty());
  for (const Failure& f : result.failures) {
    EXPECT_EQ(f.fault, Fault::reference_gradient) << f.note;
    EXPECT_EQ(f.tensor, tensor);
  }
}

TEST(ReferenceGradient, RightOnesPass) {
  for (const char* name : {"probe_matmul_bwd", "probe_bend_bwd"}) {
    const CheckResult result = reference_of(*find_op(name));
    EXPECT_EQ(result.variant, std::string(name) + ".reference");
    EXPECT_GT(result.cases, 20);
    for (const Failure& f : result.failures) ADD_FAILURE() << name << " " << failure_text(f);
  }
}

TEST(ReferenceGradient, WrongSignIsSeen) {
  expect_reference_fault(wrong_matmul([](const ProbeMatmulBwd::Args<double>& x) {
                           for (int64_t i = 0; i < x.shape.m * x.shape.k; ++i) x.d_a[i] = -x.d_a[i];
                         }),
                         "d_a");
}

TEST(ReferenceGradient, OneElementOffByAMillionthIsSeen) {
  expect_reference_fault(wrong_matmul([](const ProbeMatmulBwd::Args<double>& x) { x.d_b[0] *= 1 + 1e-6; }),
                         "d_b");
}

TEST(ReferenceGradient, WrongTransposeIsSeen) {
  expect_reference_fault(wrong_matmul([](const ProbeMatmulBwd::Args<double>& x) {
                           const auto [m, n, k] = x.shape;
                           for (int64_t i = 0; i < m; ++i)
                             for (int64_t p = 0; p < k; ++p) {
                               x.d_a[i * k + p] = 0;
                               for (int64_t j = 0; j < n; ++j)
                                 x.d_a[i * k + p] += x.d_c[i * n + j] * x.b[j * k + p];
                             }
                         }),
                         "d_a");
}

TEST(ReferenceGradient, NonFiniteIsSeen) {
  expect_reference_fault(wrong_matmul([](const ProbeMatmulBwd::Args<double>& x) { x.d_a[0] = NAN; }), "d_a");
}

TEST(ReferenceGradient, ForgottenBranchIsSeen) {
  expect_reference_fault(wrong_bend([](const ProbeBendBwd::Args<double>& x) {
                           for (int64_t i = 0; i < x.shape.n; ++i)
                             if (x.x[i] < 0) x.d_x[i] += x.y[i] * x.d_y[i];
                         }),
                         "d_x");
}

TEST(ReferenceGradient, RefusesInputsOnAKinkByName) {
  LabOp op = *find_op("probe_bend_bwd");
  op.op.arrange = [](ShapeView shape, std::span<void* const> pointers, Generator&) {
    for (int64_t i = 0; i < shape[0]; ++i) static_cast<float*>(pointers[0])[i] = 0;
  };
  const CheckResult result = reference_of(op);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_NE(result.failures[0].note.find("arrange()"), std::string::npos) << result.failures[0].note;
}

TEST(GradientPairs, AForwardThatNoLabTeachesIsAnError) {
  LabOp op = *find_op("probe_matmul_bwd");
  op.op.forward = "nowhere";
  EXPECT_THROW(check(op, {}), std::invalid_argument);
}

TEST(GradientPairs, RefuseOutputsWithoutAGradientsName) {
  LabOp op = *find_op("probe_matmul_bwd");
  op.op.tensors = [tensors = op.op.tensors](ShapeView shape) {
    auto list = tensors(shape);
    for (TensorSpec& spec : list)
      if (spec.role == Role::output) spec.name = "g" + spec.name;
    return list;
  };
  EXPECT_THROW(check(op, {}), std::invalid_argument);
}

// Sums as n outputs of magnitude 1 and value `value` with these errors would give.
ErrorSums sums_of(const std::vector<double>& errors, double value) {
  ErrorSums s;
  for (const double e : errors) {
    s.error2 += e * e;
    s.reference2 += value * value;
    s.got2 += (value + e) * (value + e);
    s.dot += value * (value + e);
    s.magnitude2 += 1;
    s.magnitude4 += 1;
    s.error += e;
    s.magnitude += 1;
    s.weighted += std::abs(value);
    ++s.count;
  }
  return s;
}

TEST(GradientLimits, RelativeL2IsTighterThanTheElementwiseBound) {
  const Tolerance t = tolerance({}, 400, false, Element::f32);
  const double bound = t.bound(1, 0);
  std::vector<double> errors(1000);
  errors[7] = 0.99 * bound;  // one alone may be as large as that
  EXPECT_FALSE(judge_gradient("d", sums_of(errors, 1), t));
  for (size_t i = 0; i < errors.size(); ++i) errors[i] = (i % 2 ? 0.7 : -0.7) * bound;
  const auto failure = judge_gradient("d", sums_of(errors, 1), t);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->fault, Fault::gradient);
  EXPECT_EQ(failure->note, "relative L2 error");
}

TEST(GradientLimits, CosineIsJudged) {
  // Sums that no vectors have, so that the cosine alone is wrong.
  ErrorSums s = sums_of(std::vector<double>(100, 0.0), 1);
  s.got2 = 1.1 * s.reference2;
  const auto failure = judge_gradient("d", s, tolerance({}, 4, false, Element::f32));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->note, "cosine");
}

TEST(GradientLimits, NanFails) {
  ErrorSums s = sums_of({0, 0}, 1);
  s.error2 = NAN;
  EXPECT_TRUE(judge_gradient("d", s, tolerance({}, 4, false, Element::f32)));
}

TEST(GradientLimits, ALeanShowsOverManyCases) {
  const Tolerance t = tolerance({}, 100, false, Element::f32);  // one case's spread: 10 roundoffs
  BiasTally lean{.tensor = "d"}, walk{.tensor = "d"};
  for (int c = 0; c < 400; ++c) {
    lean.add(sums_of(std::vector<double>(50, 6 * 0x1p-24), 1), t);
    walk.add(sums_of(std::vector<double>(50, (c % 2 ? 10 : -10) * 0x1p-24), 1), t);
  }
  ASSERT_TRUE(lean.judge());
  EXPECT_EQ(lean.judge()->fault, Fault::gradient);
  EXPECT_FALSE(walk.judge());
}

}  // namespace
}  // namespace klab
