// The ways to a gradient against each other, and the tape against every hand-written backward that it can say: the tape is
// held to the double references, the variants of the backward to the tape.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "labs/learning/gradients/worked.h"
#include "reference/activation_fwd/activation_fwd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"
#include "reference/generator.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/pool_fwd/pool_fwd.h"
#include "reference/sh_fwd/sh_fwd.h"
#include "tests/learning/tape_parts.h"

namespace klab {
namespace {

using namespace gradients;
using Values = std::map<std::string, Tape::Value>;
using Numbers = std::map<std::string, std::vector<double>>;

/// Tensors of the backward by name on a tape -> outputs of the forward by name.
using Forward = std::function<Values(Tape&, const Values&, const Numbers&)>;

Tape::Value activation_of(Tape& t, Tape::Value x, int64_t kind) {
  const auto one = [&](Tape::Value like) { return constant_like(t, like, 1); };
  const auto sigmoid = [&](Tape::Value a) { return t.divide(one(a), t.add(one(a), t.exp(t.scale(a, -1)))); };
  switch (kind) {
    case activation::relu:
      return t.relu(x);
    case activation::sigmoid:
      return sigmoid(x);
    case activation::tanh:
      return t.tanh(x);
    case activation::gelu: {
      const Tape::Value erf = t.map(
          x, [](double v) { return std::erf(v / std::sqrt(2.0)); },
          [](double v, double) { return std::sqrt(2 / M_PI) * std::exp(-v * v / 2); });
      return t.scale(t.multiply(x, t.add(one(x), erf)), 0.5);
    }
    case activation::swish:
      return t.multiply(x, sigmoid(x));
    default:
      return t.log(t.add(one(x), t.exp(x)));
  }
}

/// Where a bias of c channels is added: [n,c,hw].
Tape::Value channels(Tape& t, Tape::Value bias, int64_t n, int64_t c, int64_t hw) {
  std::vector<int64_t> from;
  for (int64_t i = 0; i < n * c * hw; ++i) from.push_back(i / hw % c);
  return t.gather(bias, {n, c, hw}, from);
}

Tape::Value conv2d(Tape& t, const Conv2dShape& s, Tape::Value x, Tape::Value w, Tape::Value b) {
  const int64_t pixels = s.oh() * s.ow(), taps = s.c * s.taps();
  std::vector<int64_t> all(size_t(s.n * s.out_channels() * pixels));
  Tape::Value y = t.input({s.n, s.out_channels(), pixels}, std::vector<double>(all.size()));
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t g = 0; g < s.groups; ++g) {
      std::vector<int64_t> columns, kernel, back(all.size(), -1);
      for (int64_t p = 0; p < taps; ++p)  // im2col
        for (int64_t o = 0; o < pixels; ++o) {
          const int64_t row = o / s.ow() * s.stride_y - s.pad_y + p / s.s % s.r * s.dilation_y;
          const int64_t column = o % s.ow() * s.stride_x - s.pad_x + p % s.s * s.dilation_x;
          const bool inside = row >= 0 && column >= 0 && row < s.h && column < s.w;
          columns.push_back(inside ? s.x_at(n, g * s.c + p / s.taps(), row, column) : -1);
        }
      for (int64_t i = 0; i < s.k * taps; ++i) kernel.push_back(g * s.k * taps + i);
      for (int64_t i = 0; i < s.k * pixels; ++i)
        back[size_t((n * s.out_channels() + g * s.k) * pixels + i)] = i;
      const Tape::Value product =
          t.matmul(t.gather(w, {s.k, taps}, kernel), t.gather(x, {taps, pixels}, columns));
      y = t.add(y, t.gather(product, t.dims(y), back));
    }
  return t.add(y, channels(t, b, s.n, s.out_channels(), pixels));
}

struct Case {
  std::string backward;
  std::vector<int64_t> shape;
  Forward forward;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  list.push_back({"matmul_bwd", {7, 5, 9}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    return {{"c", t.matmul(v.at("a"), v.at("b"))}};
                  }});
  list.push_back({"softmax_xent_bwd", {6, 11}, [](Tape& t, const Values& v, const Numbers& given) -> Values {
                    const Tape::Value x = v.at("logits");
                    std::vector<int64_t> labels;
                    for (size_t i = 0; i < 6; ++i)
                      labels.push_back(int64_t(i) * 11 + int64_t(given.at("labels")[i]));
                    return {{"loss", t.subtract(t.log(t.sum(t.exp(x))), t.gather(x, {6}, labels))}};
                  }});
  for (int64_t kind = 0; kind < activation::kKinds; ++kind)
    list.push_back({"activation_bwd", {50, kind}, [kind](Tape& t, const Values& v, const Numbers&) -> Values {
                      return {{"y", activation_of(t, v.at("x"), kind)}};
                    }});
  list.push_back({"bias_add_bwd", {4, 3, 5}, [](Tape& t, const Values&, const Numbers&) -> Values {
                    const Tape::Value bias = t.input({3}, {0.5, -1, 2});
                    return {{"y", channels(t, bias, 4, 3, 5)}, {"bias", bias}};
                  }});
  list.push_back({"layernorm_bwd", {5, 12}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    const Tape::Value beta = t.input({12}, std::vector<double>(12));
                    const Tape::Value scaled = t.multiply(normalized(t, v.at("x"), double(1e-5F), true),
                                                          rows_of(t, v.at("gamma"), 5));
                    return {{"y", t.add(scaled, rows_of(t, beta, 5))}, {"beta", beta}};
                  }});
  list.push_back({"rmsnorm_bwd", {5, 12}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    return {{"y", t.multiply(normalized(t, v.at("x"), double(1e-5F), false),
                                             rows_of(t, v.at("gamma"), 5))}};
                  }});
  list.push_back({"sh_bwd", {9, 4}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    Tape::Value y = t.input({16, 9}, std::vector<double>(16 * 9));
                    for (const ShFwd::Term& term : ShFwd::terms_of_basis()) {
                      Tape::Value product = t.input({9}, std::vector<double>(9, term.factor));
                      const int powers[] = {term.px, term.py, term.pz};
                      for (int64_t axis = 0; axis < 3; ++axis) {
                        std::vector<int64_t> from;
                        for (int64_t i = 0; i < 9; ++i) from.push_back(axis * 9 + i);
                        for (int k = 0; k < powers[axis]; ++k)
                          product = t.multiply(product, t.gather(v.at("directions"), {9}, from));
                      }
                      std::vector<int64_t> to(16 * 9, -1);
                      for (int64_t i = 0; i < 9; ++i) to[size_t(term.output * 9 + i)] = i;
                      y = t.add(y, t.gather(product, {16, 9}, to));
                    }
                    return {{"basis", y}};
                  }});
  const MlpFwd::Shape mlp = {.n = 8, .in = 5, .width = 7, .hidden = 2, .out = 3, .logistic = 1};
  list.push_back({"mlp_bwd", {8, 5, 7, 2, 3, 1}, [mlp](Tape& t, const Values& v, const Numbers&) -> Values {
                    Tape::Value x = v.at("x");
                    for (int64_t layer = 0; layer < mlp.layers(); ++layer) {
                      std::vector<int64_t> from;
                      for (int64_t i = mlp.weight_begin(layer); i < mlp.weight_begin(layer + 1); ++i)
                        from.push_back(i);
                      x = t.matmul(t.gather(v.at("weights"), {mlp.to(layer), mlp.from(layer)}, from), x);
                      x = activation_of(t, x, layer < mlp.hidden ? activation::relu : activation::sigmoid);
                    }
                    return {{"y", x}};
                  }});
  for (const Conv2dShape& s : {Conv2dShape{2, 1, 3, 4, 6, 5, 3, 3, 1, 1, 1, 1, 1, 1, 0},
                               Conv2dShape{1, 2, 2, 3, 7, 8, 3, 2, 2, 1, 1, 0, 1, 2, 0}})
    list.push_back({"conv2d_bwd",
                    {s.n, s.groups, s.c, s.k, s.h, s.w, s.r, s.s, s.stride_y, s.stride_x, s.pad_y, s.pad_x,
                     s.dilation_y, s.dilation_x, s.nhwc},
                    [s](Tape& t, const Values& v, const Numbers&) -> Values {
                      const Tape::Value b =
                          t.input({s.out_channels()}, std::vector<double>(size_t(s.out_channels())));
                      return {{"y", conv2d(t, s, v.at("x"), v.at("w"), b)}, {"b", b}};
                    }});
  for (const int64_t kind : {0, 1, 2}) {
    const PoolShape s = {2, 2, 6, 7, 3, 2, 2, 2, 1, 0, kind, 0};
    list.push_back({"pool_bwd",
                    {s.n, s.c, s.h, s.w, s.r, s.s, s.stride_y, s.stride_x, s.pad_y, s.pad_x, s.kind, s.nhwc},
                    [s](Tape& t, const Values& v, const Numbers&) -> Values {
                      const int64_t outputs = s.n * s.c * s.oh() * s.ow();
                      std::vector<int64_t> best, all;
                      std::vector<double> divisor;
                      for (int64_t o = 0; o < outputs; ++o) {
                        const int64_t plane = o / (s.oh() * s.ow()), i = o / s.ow() % s.oh(), j = o % s.ow();
                        const auto down = s.rows(i), across = s.columns(j);
                        int64_t largest = -1;
                        for (int64_t u = 0; u < s.r; ++u)
                          for (int64_t k = 0; k < s.s; ++k) {
                            const int64_t row = i * s.stride_y - s.pad_y + u,
                                          column = j * s.stride_x - s.pad_x + k;
                            const bool in = row >= down.begin && row < down.end && column >= across.begin &&
                                            column < across.end;
                            const int64_t at = in ? plane * s.h * s.w + row * s.w + column : -1;
                            all.push_back(at);
                            if (in && (largest < 0 ||
                                       t.data(v.at("x"))[size_t(at)] > t.data(v.at("x"))[size_t(largest)]))
                              largest = at;
                          }
                        best.push_back(largest);
                        divisor.push_back(double(s.divisor(down, across)));
                      }
                      if (s.is_max()) return {{"y", t.gather(v.at("x"), {outputs}, best)}};
                      const Tape::Value sums = t.sum(t.gather(v.at("x"), {outputs, s.r * s.s}, all));
                      return {{"y", t.divide(sums, t.input({outputs}, divisor))}};
                    }});
  }
  return list;
}

std::vector<double> numbers(const TensorSpec& spec, const void* data, bool wide) {
  std::vector<double> v(size_t(volume(spec.dims)));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = spec.element == Element::f32
               ? (wide ? static_cast<const double*>(data)[i] : double(static_cast<const float*>(data)[i]))
               : double(static_cast<const int32_t*>(data)[i]);
  return v;
}

/// Gradients by the tape, by name "d_x".
Numbers by_tape(const Case& c, const std::vector<TensorSpec>& specs, const Tensors& inputs) {
  Tape tape;
  Values values;
  Numbers given;
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].role != Role::input) continue;
    given[specs[k].name] = numbers(specs[k], inputs[k].data(), false);
    if (specs[k].element == Element::f32)
      values.emplace(specs[k].name, tape.input(specs[k].dims, given[specs[k].name]));
  }
  const Values outputs = c.forward(tape, values, given);
  std::vector<std::pair<Tape::Value, std::vector<double>>> seeds;
  for (const auto& [name, value] : outputs)
    if (given.contains("d_" + name)) seeds.emplace_back(value, given.at("d_" + name));
  tape.backward(seeds);
  Numbers gradients;
  for (const Values* v : std::initializer_list<const Values*>{&values, &outputs})
    for (const auto& [name, value] : *v) gradients["d_" + name] = tape.gradient(value);
  return gradients;
}

/// The backward of a normalization is given mean and rstd of x, rounded to float. The reference is given them exactly in
/// their place. Returns what the rounding may change in a result, relatively: of (x - mean)·rstd, u·|mean|·rstd.
double exact_moments(const std::vector<TensorSpec>& specs, const Tensors& inputs, Tensors& reference) {
  const auto at = [&](const char* name) {
    return std::ranges::find(specs, name, &TensorSpec::name) - specs.begin();
  };
  const auto count = std::ptrdiff_t(specs.size()), x = at("x"), mean = at("mean");
  const auto rstd = at("rstd") < count ? at("rstd") : at("rrms");
  if (x == count || rstd == count) return 0;
  const std::vector<double> values = numbers(specs[size_t(x)], inputs[size_t(x)].data(), false);
  const size_t rows = size_t(volume(specs[size_t(rstd)].dims)), each = values.size() / rows;
  double condition = 1;
  for (size_t i = 0; i < rows; ++i) {
    double sum = 0, squares = 0;
    for (size_t j = 0; j < each; ++j) sum += values[i * each + j];
    const double center = mean < count ? sum / double(each) : 0;
    for (size_t j = 0; j < each; ++j) squares += std::pow(values[i * each + j] - center, 2);
    const double scale = 1 / std::sqrt(squares / double(each) + double(1e-5F));
    if (mean < count) reference[size_t(mean)].as<double>()[i] = center;
    reference[size_t(rstd)].as<double>()[i] = scale;
    condition = std::max(condition, std::abs(center) * scale);
  }
  return 8 * 0x1p-24 * condition;
}

TEST(Tape, AgreesWithEveryBackward) {
  int variants_checked = 0, outputs_checked = 0;
  for (const Case& c : cases()) {
    const LabOp& op = *find_op(c.backward);
    ASSERT_TRUE(op.op.valid(c.shape)) << c.backward;
    const auto specs = op.op.tensors(c.shape);
    Tensors inputs(specs, Tensors::View::variant), reference(specs, Tensors::View::reference),
        magnitude(specs, Tensors::View::reference);
    Generator random(3);
    fill(op.op, c.shape, specs, inputs.pointers(), Pattern::random, op.huge, random);
    for (size_t k = 0; k < specs.size(); ++k)  // accumulated into zero
      if (specs[k].role == Role::accumulate) std::fill_n(inputs[k].as<char>(), inputs[k].bytes(), 0);
    copy_given(specs, inputs, reference);
    const double rounding = exact_moments(specs, inputs, reference);
    op.op.reference(c.shape, reference.pointers(), magnitude.pointers());
    const Numbers tape = by_tape(c, specs, inputs);
    const auto compare = [&](const Tensors& found, bool wide, double relative, const std::string& who) {
      for (size_t k = 0; k < specs.size(); ++k) {
        if (specs[k].role == Role::input || !tape.contains(specs[k].name)) continue;
        const std::vector<double> values = numbers(specs[k], found[k].data(), wide);
        double largest = 0, worst = 0;
        for (size_t i = 0; i < values.size(); ++i) {
          largest = std::max(largest, std::abs(tape.at(specs[k].name)[i]));
          worst = std::max(worst, std::abs(values[i] - tape.at(specs[k].name)[i]));
        }
        EXPECT_TRUE(worst <= relative * largest)
            << who << ", " << specs[k].name << ": " << worst << " of " << largest;
        EXPECT_GT(largest, 0) << who << ", " << specs[k].name;
        ++outputs_checked;
      }
    };
    compare(reference, true, 1e-10, c.backward + ", the reference");
    for (const Variant* v : variants_of(c.backward, "cpu")) {
      if (v->peer || v->numerics.unit != Unit::f32 || !v->supported(c.shape, this_host()).empty()) continue;
      Tensors mine(specs, Tensors::View::variant);
      copy_given(specs, inputs, mine);
      v->bind(c.shape, given_to(*v, specs, mine.pointers()))();
      compare(mine, false, 2e-5 + rounding, v->id);
      ++variants_checked;
    }
  }
  EXPECT_GT(variants_checked, 25);
  EXPECT_GT(outputs_checked, 50);
}

TEST(Ways, AgreeOnTheWorkedExample) {
  const auto ways = four_ways({2, 5});
  ASSERT_EQ(ways.size(), 4U);
  for (const Way& w : ways) {
    EXPECT_NEAR(w.value, 11.652, 5e-4) << w.name;
    ASSERT_EQ(w.gradient.size(), 2U);
    EXPECT_NEAR(w.gradient[0], 5.5, 1e-8) << w.name;
    EXPECT_NEAR(w.gradient[1], 2 - std::cos(5.0), 1e-8) << w.name;
  }
  EXPECT_EQ(ways[1].passes, 2);
  EXPECT_EQ(ways[2].passes, 1);
}

TEST(Ways, AgreeElsewhere) {
  const auto f = [](const auto& x) {
    using std::exp, std::sqrt, std::tanh, std::cos;
    return exp(x[0]) / (x[1] * x[1]) + tanh(x[2] * x[0]) - cos(x[1]) * sqrt(x[2]);
  };
  const std::vector<double> x = {0.3, 1.7, 0.9};
  const auto numeric = numerical_gradient(f, x), forward = forward_gradient(f, x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(numeric[i], forward[i], 1e-8);
}

TEST(Differences, StayWithinTheirTwoFloors) {
  const std::vector<double> x = {2, 5};
  std::vector<double> steps;
  for (int k = 2; k <= 26; ++k) steps.push_back(std::pow(10.0, -k / 2.0));
  const Exact exact = {Worked{}(x), 2 - std::cos(5.0), std::sin(5.0), std::cos(5.0)};
  double least = 1;
  for (const DifferenceError& e : difference_errors(Worked{}, x, 1, exact, steps)) {
    // The remainder at h = 0.3 is not its first term alone; x + h itself is rounded, too.
    EXPECT_LE(e.central, 1.2 * e.truncation + 8 * e.rounding) << e.h;
    EXPECT_LE(e.one_sided, 1.2 * e.truncation_one_sided + 16 * e.rounding) << e.h;
    least = std::min(least, e.central);
  }
  EXPECT_LT(least, 1e-9);
  const auto coarse = difference_errors(Worked{}, x, 1, exact, std::vector{1e-2, 1e-3});
  EXPECT_NEAR(std::log10(coarse[0].central / coarse[1].central), 2, 0.05);      // as h²
  EXPECT_NEAR(std::log10(coarse[0].one_sided / coarse[1].one_sided), 1, 0.05);  // as h
}

TEST(Graph, DifferentiatesItsGradient) {
  const auto second = hessian({2, 5});
  EXPECT_NEAR(second[0][0], -0.25, 1e-12);
  EXPECT_NEAR(second[0][1], 1, 1e-12);
  EXPECT_NEAR(second[1][0], 1, 1e-12);
  EXPECT_NEAR(second[1][1], std::sin(5.0), 1e-12);

  Graph g;
  const Expr x = g.input();
  Expr d = tanh(x) / exp(x);
  for (int i = 0; i < 3; ++i) {  // three times over, against differences of the one before
    const Expr next = g.gradient(d, {x})[0];
    const auto value = [&](double at) { return g.evaluate({d}, {at})[0]; };
    EXPECT_NEAR(g.evaluate({next}, {0.4})[0], (value(0.4 + 1e-5) - value(0.4 - 1e-5)) / 2e-5, 1e-7) << i;
    d = next;
  }
}

TEST(Graph, CountsWhatIsWrittenAndLeavesOutWhatIsDead) {
  for (const int n : {2, 3, 5, 8, 13, 40}) {
    EXPECT_EQ(product_cost(n).written, n * (n - 2)) << n;
    EXPECT_LE(product_cost(n).reverse, 3 * n) << n;
  }
  Graph g;
  const Expr x = g.input(), y = g.input();
  const Expr dead = exp(x * y), live = x + y;
  EXPECT_EQ(g.operations({live}), 1);
  EXPECT_EQ(g.operations({live, dead}), 3);
  EXPECT_EQ(g.evaluate({live}, {1, 2})[0], 3);
  EXPECT_THROW(g.evaluate({live}, {1}), std::invalid_argument);
}

TEST(Designs, FindTheSameGradient) {
  const auto ways = three_designs({0.5, -1, 2}, {0.3, 0.8, 0.2, -0.6, 0.1, -0.4, 1.1, -0.7});
  for (const Way& w : ways) {
    EXPECT_NEAR(w.value, ways[0].value, 1e-14) << w.name;
    ASSERT_EQ(w.gradient.size(), 8U) << w.name;
    for (size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(w.gradient[i], ways[0].gradient[i], 1e-14) << w.name << " " << i;
  }
}

}  // namespace
}  // namespace klab
