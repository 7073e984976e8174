// Convolution and pooling of lab 06: known values, a grid over all parameters, the adjoint, Winograd's bound, ties, threads.
#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/check/shape_reader.h"
#include "harness/core/registry.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"
#include "reference/generator.h"
#include "reference/pool_bwd/pool_bwd.h"

namespace klab {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

auto view(const Conv2dShape& s) { return std::bit_cast<std::array<int64_t, 16>>(s); }
auto view(const PoolShape& s) { return std::bit_cast<std::array<int64_t, 13>>(s); }

template <class Shape>
std::vector<const Variant*> runnable(const std::string& op, const Shape& shape) {
  std::vector<const Variant*> found;
  const auto dims = view(shape);
  for (const Variant* v : variants_of(op, "cpu"))
    if (v->supported(dims, {.threads = omp_get_max_threads()}).empty()) found.push_back(v);
  EXPECT_FALSE(found.empty());
  return found;
}

Floats convolved(const Variant& v, const Conv2dShape& s, Floats x, Floats w, Floats b) {
  Floats y(size_t(volume(s.y_dims())), kPoison);
  std::array<void*, 4> pointers = {x.data(), w.data(), b.data(), y.data()};
  const auto dims = view(s);
  v.bind(dims, pointers)();
  return y;
}

Doubles drawn(int64_t n, Generator& random) {
  Doubles values(static_cast<size_t>(n));
  std::normal_distribution<double> normal;
  for (double& value : values) value = normal(random);
  return values;
}

double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Kernels, strides, paddings, dilations, groups and layouts, all with all, of an image with odd sides; batch 1.
std::vector<Conv2dShape> grid() {
  using Pair = std::array<int64_t, 2>;
  std::vector<Conv2dShape> shapes;
  for (const Pair kernel : {Pair{1, 1}, Pair{3, 2}, Pair{2, 3}})
    for (const Pair stride : {Pair{1, 1}, Pair{2, 1}, Pair{2, 3}})
      for (const Pair pad : {Pair{0, 0}, Pair{1, 0}, Pair{1, 2}})
        for (const Pair dilation : {Pair{1, 1}, Pair{1, 2}, Pair{2, 1}})
          for (const int64_t groups : {1, 2})
            for (const int64_t nhwc : {0, 1})
              shapes.push_back({1, groups, 2, 3, 7, 5, kernel[0], kernel[1], stride[0], stride[1], pad[0],
                                pad[1], dilation[0], dilation[1], nhwc});
  return shapes;
}

TEST(Convolution, AKernelOfOneTapShiftsThePicture) {
  // The tap (0,1) of a 1x3 kernel with padding 1 reads the pixel itself; (0,0) its left neighbor.
  const Conv2dShape s{1, 1, 1, 1, 2, 3, 1, 3, 1, 1, 0, 1, 1, 1, 0};
  for (const Variant* v : runnable("conv2d_fwd", s)) {
    SCOPED_TRACE(v->id);
    EXPECT_EQ(convolved(*v, s, {1, 2, 3, 4, 5, 6}, {0, 1, 0}, {0}), (Floats{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(convolved(*v, s, {1, 2, 3, 4, 5, 6}, {1, 0, 0}, {10}), (Floats{10, 11, 12, 10, 14, 15}));
  }
}

TEST(Convolution, StridePaddingAndDilationByHand) {
  // 3x3 pixels 1..9, kernel 2x2 of ones with dilation 2 and padding 1: corners of a 3x3 square around each output.
  const Conv2dShape s{1, 1, 1, 1, 3, 3, 2, 2, 2, 2, 1, 1, 2, 2, 0};
  ASSERT_EQ(s.oh(), 2);
  for (const Variant* v : runnable("conv2d_fwd", s)) {
    SCOPED_TRACE(v->id);
    EXPECT_EQ(convolved(*v, s, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 1, 1}, {0}), (Floats{5, 5, 5, 5}));
  }
}

TEST(Convolution, GroupsAreIndependent) {
  const Conv2dShape s{1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 0, 0, 1, 1, 0};
  for (const Variant* v : runnable("conv2d_fwd", s)) {
    SCOPED_TRACE(v->id);
    EXPECT_EQ(convolved(*v, s, {1, 2, 10, 20}, {1, 2, 3, 4}, {0, 0, 0, 100}),
              (Floats{1, 2, 2, 4, 30, 60, 140, 180}));
  }
}

TEST(Convolution, CountsTheProductsInsideTheImage) {
  const Conv2dShape s{2, 1, 64, 32, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0};
  EXPECT_EQ(s.products(), 2.0 * 64 * 32 * (3 * 56 - 2) * (3 * 56 - 2));
  for (const Conv2dShape& shape : grid()) {
    int64_t counted = 0;
    for (int64_t i = 0; i < shape.oh(); ++i)
      for (int64_t u = 0; u < shape.r; ++u) {
        const int64_t row = i * shape.stride_y + u * shape.dilation_y - shape.pad_y;
        counted += row >= 0 && row < shape.h;
      }
    EXPECT_EQ(Conv2dShape::pairs(shape.h, shape.r, shape.stride_y, shape.pad_y, shape.dilation_y), counted);
  }
}

/// Every variant on the host's processors, values and gradients, at each point of the grid.
void check_grid(const std::string& name) {
  const LabOp* op = find_op(name);
  ASSERT_NE(op, nullptr);
  const auto variants = variants_of(name, "cpu");
  int cases = 0;
  for (const Conv2dShape& s : grid()) {
    const auto dims = view(s);
    const OpCheck result =
        check(*op, variants, {.max_failures = 1, .shape = {dims.begin(), dims.end()}, .quick = true});
    for (const CheckResult& r : result.variants) {
      cases += r.cases;
      for (const Failure& f : r.failures) ADD_FAILURE() << r.variant << ": " << failure_text(f);
    }
    if (result.reference)
      for (const Failure& f : result.reference->failures) ADD_FAILURE() << failure_text(f);
  }
  EXPECT_GT(cases, 1000);
}

TEST(Convolution, ForwardOverTheGridOfParameters) { check_grid("conv2d_fwd"); }
TEST(Convolution, GradientsOverTheGridOfParameters) { check_grid("conv2d_bwd"); }

/// Shapes at which the branches run are few among those that the check draws: here are theirs, around blocks and edges.
TEST(Convolution, BranchRungsAtTheirOwnShapes) {
  const LabOp* op = find_op("conv2d_fwd");
  ASSERT_NE(op, nullptr);
  const Variant* winograd = find_variant("conv2d_fwd.cpu.08_winograd");
  const Variant* depthwise = find_variant("conv2d_fwd.cpu.07_depthwise");
  ASSERT_TRUE(winograd != nullptr && depthwise != nullptr);
  const auto passes = [&](const Variant* v, const Conv2dShape& s) {
    const auto dims = view(s);
    const OpCheck result = check(*op, {&v, 1}, {.max_failures = 1, .shape = {dims.begin(), dims.end()}});
    EXPECT_GT(result.variants[0].cases, 0);
    for (const Failure& f : result.variants[0].failures) ADD_FAILURE() << v->id << ": " << failure_text(f);
  };
  for (const int64_t h : {1, 2, 5, 8})
    for (const int64_t w : {1, 3, 4, 15, 33, 70})
      for (const int64_t pad_y : {1, 2})
        for (const int64_t pad_x : {1, 3}) {
          passes(winograd, {2, 2, 8 + h, 5 + w % 4, h, w, 3, 3, 1, 1, pad_y, pad_x, 1, 1, 0});
          passes(depthwise,
                 {2, 3, 1, 1, h + 3, w + 3, 3, 2, 1 + w % 3, 1 + h % 3, pad_y, pad_x, 1 + h % 2, 1, 0});
        }
}

/// ⟨conv(x), d_y⟩ = ⟨x, d_x⟩ = ⟨w, d_w⟩ without bias, and ⟨b, d_b⟩ for the bias: in double.
TEST(Convolution, TheBackwardIsTheAdjoint) {
  Generator random(7);
  for (Conv2dShape s : grid()) {
    s.n = 2;
    const int64_t x_size = volume(s.x_dims()), w_size = volume(s.w_dims()), y_size = volume(s.y_dims());
    const Doubles x = drawn(x_size, random), w = drawn(w_size, random), d_y = drawn(y_size, random);
    const Doubles none(size_t(s.out_channels()), 0), b = drawn(s.out_channels(), random);
    Doubles y(d_y), biased(d_y), size(d_y), d_x(x), d_w(w), d_b(b), d_x_size(x), d_w_size(w), d_b_size(b);
    Conv2dFwd::reference({s, x.data(), w.data(), none.data(), y.data()},
                         {s, nullptr, nullptr, nullptr, size.data()});
    Conv2dFwd::reference({s, x.data(), w.data(), b.data(), biased.data()},
                         {s, nullptr, nullptr, nullptr, size.data()});
    Conv2dBwd::reference({s, x.data(), w.data(), d_y.data(), d_x.data(), d_w.data(), d_b.data()},
                         {s, nullptr, nullptr, nullptr, d_x_size.data(), d_w_size.data(), d_b_size.data()});
    double terms = 0;
    for (int64_t i = 0; i < y_size; ++i) terms += std::abs(d_y[size_t(i)]) * size[size_t(i)];
    const double bound = 0x1p-53 * double(y_size + x_size + w_size + s.c * s.taps()) * terms;
    EXPECT_LE(std::abs(dot(y, d_y) - dot(x, d_x)), bound);
    EXPECT_LE(std::abs(dot(y, d_y) - dot(w, d_w)), bound);
    EXPECT_LE(std::abs(dot(biased, d_y) - dot(y, d_y) - dot(b, d_b)), bound);
  }
}

/// The bound of 08_winograd's header, S = |Aᵀ|[Σ_c (|G||g||Gᵀ|) ⊙ (|Bᵀ||d||B|)]|A|, of one block of outputs.
class WinogradBound {
 public:
  double of(const Conv2dShape& s, const Floats& x, const Floats& w, int64_t to, int64_t i, int64_t j) const {
    static constexpr double kB[4][4] = {{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}};
    static constexpr double kG[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}};
    static constexpr double kA[4][2] = {{1, 0}, {1, 1}, {1, 1}, {0, 1}};
    double sum = 0;
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t p = 0; p < 4; ++p)
        for (int64_t q = 0; q < 4; ++q) {
          double pixels = 0, taps = 0;
          for (int64_t a = 0; a < 4; ++a)
            for (int64_t b = 0; b < 4; ++b) {
              const int64_t row = i / 2 * 2 + a - s.pad_y, column = j / 2 * 2 + b - s.pad_x;
              if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
              pixels += kB[p][a] * kB[q][b] * std::abs(double(x[size_t(s.x_at(0, c, row, column))]));
            }
          for (int64_t a = 0; a < 3; ++a)
            for (int64_t b = 0; b < 3; ++b)
              taps += kG[p][a] * kG[q][b] * std::abs(double(w[size_t(((to * s.c + c) * 3 + a) * 3 + b)]));
          sum += kA[p][i % 2] * kA[q][j % 2] * pixels * taps;
        }
    return sum;
  }
};

TEST(Convolution, WinogradKeepsItsOwnBoundWhereTapsAreZero) {
  const Variant* v = find_variant("conv2d_fwd.cpu.08_winograd");
  ASSERT_NE(v, nullptr);
  const Conv2dShape s{1, 1, 9, 5, 11, 13, 3, 3, 1, 1, 1, 1, 1, 1, 0};
  Generator random(3);
  std::normal_distribution<float> normal;
  Floats x(size_t(volume(s.x_dims()))), w(size_t(volume(s.w_dims()))), b(size_t(s.k), 0);
  for (float& value : x) value = random() % 3 == 0 ? 1e4F * normal(random) : normal(random);
  for (float& value : w) value = random() % 2 == 0 ? 0 : normal(random);
  const Floats y = convolved(*v, s, x, w, b);
  const Doubles wide_x(x.begin(), x.end()), wide_w(w.begin(), w.end()), wide_b(b.begin(), b.end());
  Doubles right(y.size()), size(y.size());
  Conv2dFwd::reference({s, wide_x.data(), wide_w.data(), wide_b.data(), right.data()},
                       {s, nullptr, nullptr, nullptr, size.data()});
  const double roundings = double(s.c + 14) * 0x1p-24;
  double worst = 0;
  for (int64_t to = 0; to < s.k; ++to)
    for (int64_t i = 0; i < s.oh(); ++i)
      for (int64_t j = 0; j < s.ow(); ++j) {
        const auto at = size_t(s.y_at(0, to, i, j));
        const double bound = roundings / (1 - roundings) * WinogradBound().of(s, x, w, to, i, j);
        EXPECT_LE(std::abs(y[at] - right[at]), bound) << to << " " << i << " " << j;
        worst = std::max(worst, std::abs(y[at] - right[at]) / (bound + 1e-300));
      }
  EXPECT_GT(worst, 1e-3);  // the bound is of the size of the error, or it would show nothing
}

TEST(Convolution, TheSameBitsWithAnyNumberOfThreads) {
  const Conv2dShape s{3, 2, 9, 13, 23, 19, 3, 3, 1, 1, 1, 1, 1, 1, 0};
  Generator random(5);
  std::normal_distribution<float> normal;
  Floats x(size_t(volume(s.x_dims()))), w(size_t(volume(s.w_dims()))), b(size_t(s.out_channels()));
  for (Floats* values : {&x, &w, &b})
    for (float& value : *values) value = normal(random);
  const int before = omp_get_max_threads();
  for (const Variant* v : runnable("conv2d_fwd", s)) {
    if (v->peer) continue;
    omp_set_num_threads(1);
    const Floats one = convolved(*v, s, x, w, b);
    omp_set_num_threads(3);
    EXPECT_EQ(convolved(*v, s, x, w, b), one) << v->id;
  }
  omp_set_num_threads(before);
}

Floats pooled(const Variant& v, const PoolShape& s, Floats x) {
  Floats y(size_t(volume(s.y_dims())), kPoison);
  std::array<void*, 2> pointers = {x.data(), y.data()};
  const auto dims = view(s);
  v.bind(dims, pointers)();
  return y;
}

Floats pool_gradient(const Variant& v, const PoolShape& s, Floats x, Floats d_y) {
  Floats d_x(x.size(), kPoison);
  std::array<void*, 3> pointers = {x.data(), d_y.data(), d_x.data()};
  const auto dims = view(s);
  v.bind(dims, pointers)();
  return d_x;
}

TEST(Pool, PaddingNeverWinsAndIsCountedOnlyWhereAsked) {
  PoolShape s{1, 1, 2, 2, 2, 2, 2, 2, 1, 1, 0, 0};  // four windows, each with one pixel inside
  const Floats x = {-1, -2, -3, -4};
  for (const Variant* v : runnable("pool_fwd", s)) {
    SCOPED_TRACE(v->id);
    EXPECT_EQ(pooled(*v, s, x), (Floats{-1, -2, -3, -4}));
    s.kind = 1;
    EXPECT_EQ(pooled(*v, s, x), (Floats{-1, -2, -3, -4}));
    s.kind = 2;
    EXPECT_EQ(pooled(*v, s, x), (Floats{-0.25F, -0.5F, -0.75F, -1}));
    s.kind = 0;
  }
}

// oneDNN's heap is corrupted at the first three.
TEST(Conv2d, SkipsALibraryWhoseBackwardWritesOutOfBounds) {
  const auto peers_at = [](const Conv2dShape& s) {
    const auto found = runnable("conv2d_bwd", s);
    return std::ranges::count_if(found, [](const Variant* v) { return v->peer; });
  };
  for (const Conv2dShape& s : {Conv2dShape{5, 1, 3, 3, 2, 33, 1, 1, 2, 1, 0, 0, 1, 2, 1},
                               Conv2dShape{5, 1, 3, 3, 8, 64, 1, 1, 1, 2, 0, 0, 1, 1, 1},
                               Conv2dShape{9, 1, 5, 7, 16, 16, 1, 1, 2, 2, 0, 0, 1, 1, 1}})
    EXPECT_EQ(peers_at(s), 0) << s.c << " channels";
  const auto all = peers_at({1, 1, 3, 3, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1});
  for (const Conv2dShape& s :
       {Conv2dShape{5, 1, 16, 3, 2, 33, 1, 1, 2, 1, 0, 0, 1, 2, 1},  // whole blocks of channels
        Conv2dShape{5, 1, 3, 3, 2, 33, 1, 1, 1, 1, 0, 0, 1, 2, 1},   // no stride
        Conv2dShape{5, 1, 3, 3, 2, 33, 1, 1, 2, 1, 0, 0, 1, 2, 0},   // channels first
        Conv2dShape{5, 1, 3, 3, 2, 33, 3, 3, 2, 1, 1, 1, 1, 1, 1}})  // another kernel
    EXPECT_EQ(peers_at(s), all) << s.c << " channels";
}

TEST(Pool, GivesTheGradientToTheFirstOfSeveralLargest) {
  for (const int64_t nhwc : {0, 1}) {
    const PoolShape s{1, 1, 3, 3, 2, 2, 1, 1, 0, 0, 0, nhwc};
    for (const Variant* v : runnable("pool_bwd", s)) {
      if (v->peer) continue;  // a library chooses for itself
      SCOPED_TRACE(v->id);
      EXPECT_EQ(pool_gradient(*v, s, Floats(9, 2), {1, 10, 100, 1000}),
                (Floats{1, 10, 0, 100, 1000, 0, 0, 0, 0}));
      EXPECT_EQ(pool_gradient(*v, s, {1, 2, 1, 2, 0, 2, 1, 2, 1}, {1, 10, 100, 1000}),
                (Floats{0, 11, 0, 100, 0, 1000, 0, 0, 0}));
    }
  }
}

// ---- Borders

TEST(Borders, AreReadByHand) {
  // One row, a kernel of three ones: each output is the sum of a pixel and its neighbors, the border's at both ends.
  Conv2dShape s{1, 1, 1, 1, 1, 3, 1, 3, 1, 1, 0, 1, 1, 1, 0};
  const Floats x = {1, 2, 6}, w = {1, 1, 1}, b = {0};
  for (const auto& [border, want] : std::vector<std::pair<int64_t, Floats>>{{PadShape::zeros, {3, 9, 8}},
                                                                            {PadShape::replicate, {4, 9, 14}},
                                                                            {PadShape::circular, {9, 9, 9}},
                                                                            {PadShape::reflect, {5, 9, 10}},
                                                                            {PadShape::mean, {6, 9, 11}}}) {
    s.border = border;
    for (const Variant* v : runnable("conv2d_fwd", s)) EXPECT_EQ(convolved(*v, s, x, w, b), want) << v->id;
  }
  PoolShape p{1, 1, 1, 3, 1, 2, 1, 1, 0, 1, 0, 0};
  for (const auto& [border, want] :
       std::vector<std::pair<int64_t, Floats>>{{0, {1, 2, 6, 6}},
                                               {PadShape::circular, {6, 2, 6, 6}},
                                               {PadShape::reflect, {2, 2, 6, 6}},
                                               {PadShape::mean, {3, 2, 6, 6}}}) {
    p.border = border;
    for (const Variant* v : runnable("pool_fwd", p)) EXPECT_EQ(pooled(*v, p, x), want) << v->id;
  }
}

TEST(Borders, GradientsOfAMeanReachEveryPixel) {
  // The first output is the mean alone: its gradient is shared out to all pixels.
  Conv2dShape s{1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, PadShape::mean};
  Floats d_y(16, 0);
  d_y[0] = 8;
  for (const Variant* v : runnable("conv2d_bwd", s)) {
    Floats x = {1, 2, 3, 6}, w = {2}, d_x(4, kPoison), d_w(1, kPoison), d_b(1, kPoison);
    std::array<void*, 6> pointers = {x.data(), w.data(), d_y.data(), d_x.data(), d_w.data(), d_b.data()};
    v->bind(view(s), pointers)();
    EXPECT_EQ(d_x, (Floats{4, 4, 4, 4})) << v->id;
    EXPECT_EQ(d_w, Floats{8 * 3}) << v->id;
    EXPECT_EQ(d_b, Floats{8}) << v->id;
  }
}

TEST(Borders, AgreeWithTheReferenceOverAGridOfKinds) {
  const auto agree = [](const char* op, const auto& shape, int& cases) {
    const auto dims = view(shape);
    const OpCheck result = check(*find_op(op), variants_of(op),
                                 {.max_failures = 1, .shape = {dims.begin(), dims.end()}, .quick = true});
    for (const CheckResult& one : result.variants) {
      cases += one.cases;
      for (const Failure& f : one.failures) ADD_FAILURE() << one.variant << ": " << failure_text(f);
    }
    if (result.reference)
      for (const Failure& f : result.reference->failures) ADD_FAILURE() << failure_text(f);
  };
  int cases = 0;
  for (const int64_t border : {PadShape::replicate, PadShape::circular, PadShape::reflect, PadShape::mean})
    for (const int64_t nhwc : {0, 1}) {
      const Conv2dShape s{2, 2, 2, 3, 6, 5, 3, 2, 2, 1, 2, 1, 1, 2, nhwc, border};
      agree("conv2d_fwd", s, cases);
      agree("conv2d_bwd", s, cases);
      for (const int64_t kind : {0, 1, 2}) {
        const PoolShape p{2, 3, 7, 5, 3, 2, 2, 1, 2, 1, kind, nhwc, border};
        agree("pool_fwd", p, cases);
        agree("pool_bwd", p, cases);
      }
    }
  EXPECT_GT(cases, 200);
}

TEST(Borders, AreForRungsThatNameThem) {
  const Conv2dShape s{1, 1, 4, 4, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 0, PadShape::reflect};
  int takes = 0, refuses = 0;
  for (const Variant* v : variants_of("conv2d_fwd", "cpu")) {
    const bool names = std::ranges::find(v->needs, "border") != v->needs.end();
    const std::string why = v->supported(view(s), {.threads = 1});
    ++(names ? takes : refuses);
    EXPECT_EQ(why, names ? "" : "it takes no other border than 0") << v->id;
  }
  EXPECT_GE(takes, 2);
  EXPECT_GT(refuses, 0);
  // A shape without the border is that of zeros.
  const LabOp& op = *find_op("conv2d_fwd");
  const std::vector<int64_t> without = {1, 1, 4, 4, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 0};
  std::vector<int64_t> with = without;
  with.push_back(0);
  EXPECT_EQ(shape_text(op.op, without), shape_text(op.op, with));
  EXPECT_EQ(shape_from_text(op.op, shape_text(op.op, with)), without);
  EXPECT_NE(shape_text(op.op, view(s)), shape_text(op.op, with));
  EXPECT_EQ(shape_from_text(op.op, shape_text(op.op, view(s))).back(), PadShape::reflect);
}

TEST(Pool, GradientsOverAGridOfParameters) {
  const LabOp* op = find_op("pool_bwd");
  ASSERT_NE(op, nullptr);
  const auto variants = variants_of("pool_bwd", "cpu");
  int cases = 0;
  for (const int64_t r : {1, 2, 3})
    for (const int64_t stride : {1, 2, 3})
      for (const int64_t pad : {0, 1})
        for (const int64_t kind : {0, 1, 2})
          for (const int64_t nhwc : {0, 1}) {
            const PoolShape s{1, 3, 7, 5, r, 3, stride, 2, std::min(pad, r - 1), pad, kind, nhwc};
            const auto dims = view(s);
            const OpCheck result =
                check(*op, variants, {.max_failures = 1, .shape = {dims.begin(), dims.end()}, .quick = true});
            for (const CheckResult& one : result.variants) {
              cases += one.cases;
              for (const Failure& f : one.failures) ADD_FAILURE() << one.variant << ": " << failure_text(f);
            }
            for (const Failure& f : result.reference->failures) ADD_FAILURE() << failure_text(f);
          }
  EXPECT_GT(cases, 500);
}

}  // namespace
}  // namespace klab
