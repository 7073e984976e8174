// What a check does not meet of a boundary is named; kernels that err at a boundary only are caught.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/drawn_cases.h"
#include "harness/core/registry.h"
#include "reference/boundaries.h"

namespace klab {
namespace {

std::vector<const Variant*> variants_of_op(const std::string& op) {
  std::vector<const Variant*> list;
  for (const Variant& v : variants())
    if (v.op == op && v.backend == "cpu" && v.file.find("/tests/") == std::string::npos) list.push_back(&v);
  return list;
}

BoundaryCounts counts_of(const std::string& op, int most_shapes = 0) {
  return count_boundaries(*find_op(op), variants_of_op(op), {.most_shapes = most_shapes, .done = {}});
}

TEST(BoundariesOfAnOp, AreMetByTheDrawingsOfACheck) {
  for (const std::string op :
       {"activation_bwd", "all_finite", "clip_norm", "depth_loss_fwd", "pixel_loss_bwd", "radix_sort",
        "sample_begin", "softmax_xent_bwd", "unscale"}) {
    const BoundaryCounts counts = counts_of(op);
    EXPECT_GT(counts.wanted(), 2) << op;
    EXPECT_EQ(counts.met(), counts.wanted()) << op;
    for (const BoundaryCount& b : counts.boundaries) EXPECT_EQ(b.broken, "") << op << ", " << b.name;
  }
}

/// Boundaries of vector_add while one lives.
struct Stated {
  explicit Stated(StatedBoundary b) { boundaries().push_back(std::move(b)); }
  ~Stated() { boundaries().pop_back(); }
  Stated(const Stated&) = delete;
  Stated& operator=(const Stated&) = delete;
};

StatedBoundary boundary_of_vector_add(std::vector<std::string> of) {
  return {.op = "vector_add",
          .name = "planted here",
          .of = std::move(of),
          .code = {},
          .sides = kEither,
          .classify = [](const StatedBoundary&, std::span<const int64_t>, std::span<void* const>,
                         Sides& met) { met.holds(true); }};
}

BoundaryCount count_of_planted() {
  const BoundaryCounts counts = counts_of("vector_add", 8);
  EXPECT_LT(counts.met(), counts.wanted());
  for (const BoundaryCount& b : counts.boundaries)
    if (b.name == "planted here") return b;
  ADD_FAILURE() << "not counted";
  return {};
}

TEST(BoundariesOfAnOp, NamesASideThatNoCaseMeets) {
  const Stated stated(boundary_of_vector_add({"a", "n"}));
  const BoundaryCount count = count_of_planted();
  EXPECT_EQ(count.broken, "");
  EXPECT_EQ(count.missing(), unsigned{kFails});
  EXPECT_GT(count.cases[4], 0);
}

TEST(BoundariesOfAnOp, NamesAnInputThatTheOpHasNot) {
  const Stated stated(boundary_of_vector_add({"a", "weights"}));
  EXPECT_EQ(count_of_planted().broken,
            "it concerns \"weights\", which vector_add has not; it has n, a, b, c");
}

TEST(BoundariesOfAnOp, NamesTwoOfOneName) {
  const Stated stated(boundary_of_vector_add({"a"})), again(boundary_of_vector_add({"b"}));
  EXPECT_EQ(count_of_planted().broken, "two boundaries have this name");
}

TEST(BoundariesOfAnOp, NamesAVariantThatSupportsTooFewShapesToMeetThem) {
  const Variant* all = find_variant("vector_add.cpu.01_scalar");
  Variant one = *all;
  one.id = "one_element";
  one.supported = [](ShapeView shape, const Host&) { return shape[0] == 1 ? "" : "needs one element"; };
  const Variant* const list[] = {all, &one};
  const BoundaryCounts counts = count_boundaries(*find_op("vector_add"), list, {.done = {}});
  ASSERT_EQ(counts.variants.size(), 2U);
  EXPECT_EQ(counts.variants[0].missing, std::vector<std::string>{});
  EXPECT_GT(counts.variants[1].cases, 0);
  EXPECT_LT(counts.variants[1].cases, counts.variants[0].cases);
  EXPECT_FALSE(counts.variants[1].missing.empty());
}

/// Wrong kernels that err at a boundary only.
constexpr const char* kWrongAtBoundaries[] = {
    "clip_norm.cpu.70_no_length", "depth_loss_fwd.cpu.82_minus_zero", "place_samples.cpu.70_near_wall",
    "ssim_loss_bwd.cpu.71_sign_of_zero"};

/// The boundaries of an op without what moves inputs to them, while one lives.
class OnlyUsualDrawings {
 public:
  explicit OnlyUsualDrawings(const std::string& op) : before_(boundaries()) {
    for (StatedBoundary& b : boundaries())
      if (b.op == op) b.plant = nullptr;
  }
  ~OnlyUsualDrawings() { boundaries() = before_; }
  OnlyUsualDrawings(const OnlyUsualDrawings&) = delete;
  OnlyUsualDrawings& operator=(const OnlyUsualDrawings&) = delete;

 private:
  std::vector<StatedBoundary> before_;
};

TEST(BoundariesOfAnOp, CatchKernelsThatErrOnlyThere) {
  for (const char* id : kWrongAtBoundaries) {
    const Variant* variant = find_variant(id);
    ASSERT_NE(variant, nullptr) << id;
    const auto failures = [&] {
      return check(*find_op(variant->op), {&variant, 1}, {.gradients = false, .done = {}})
          .variants.front()
          .failures.size();
    };
    EXPECT_GT(failures(), 0U) << id;
    const OnlyUsualDrawings usual(variant->op);
    EXPECT_EQ(failures(), 0U) << id << " is caught by usual drawings, too";
  }
}

}  // namespace
}  // namespace klab
