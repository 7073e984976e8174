// The ways to a gradient against each other, and the tape against every hand-written backward that it can
// express: the tape is held to the double references, the variants of the backward to the tape.
// ctest: sanitized-ops
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "labs/learning/gradients/worked.h"
#include "reference/generator.h"
#include "tests/learning/tape_network.h"
#include "tests/learning/tape_rendering.h"

namespace klab {
namespace {

using namespace gradients;
std::vector<Case> cases() {
  std::vector<Case> list = network_cases();
  for (const Case& c : rendering_cases()) list.push_back(c);
  return list;
}

std::vector<double> numbers(const TensorSpec& spec, const void* data, bool wide) {
  std::vector<double> v(size_t(volume(spec.dims)));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = spec.element == Element::f32
               ? (wide ? static_cast<const double*>(data)[i] : double(static_cast<const float*>(data)[i]))
           : spec.element == Element::u32 ? double(static_cast<const uint32_t*>(data)[i])
           : spec.element == Element::i64 ? double(static_cast<const int64_t*>(data)[i])
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

/// The backward of a normalization is given mean and rstd of x, rounded to float. The reference is given them
/// exactly in their place. Returns the relative change that the rounding may cause in a result: u·|mean|·rstd
/// for (x - mean)·rstd.
double exact_moments(const std::vector<TensorSpec>& specs, const Tensors& inputs, Tensors& reference) {
  const auto at = [&](const char* name) {
    return std::ranges::find(specs, name, &TensorSpec::name) - specs.begin();
  };
  const auto count = std::ptrdiff_t(specs.size()), x = at("x"), mean = at("mean");
  const auto rstd = at("rstd") < count ? at("rstd") : at("rrms");
  if (x == count || rstd == count) return 0;
  const std::vector<double> values = numbers(specs[size_t(x)], inputs[size_t(x)].data(), false);
  const size_t rows = size_t(volume(specs[size_t(rstd)].dims)), each = values.size() / rows;
  // A channel of a batch lies in pieces: numbers of a set, one behind the other.
  const Dims& dims = specs[size_t(x)].dims;
  const bool pieces = dims.size() == 3 && specs[size_t(rstd)].dims.size() == 1;
  const size_t piece = pieces ? size_t(dims[2]) : each;
  const auto number = [&](size_t set, size_t j) {
    return values[pieces ? (j / piece * rows + set) * piece + j % piece : set * each + j];
  };
  double condition = 1;
  for (size_t i = 0; i < rows; ++i) {
    double sum = 0, squares = 0;
    for (size_t j = 0; j < each; ++j) sum += number(i, j);
    const double center = mean < count ? sum / double(each) : 0;
    for (size_t j = 0; j < each; ++j) squares += std::pow(number(i, j) - center, 2);
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
      compare(mine, false, c.relative + rounding, v->id);
      ++variants_checked;
    }
  }
  EXPECT_GT(variants_checked, 60);
  EXPECT_GT(outputs_checked, 100);
}

/// Every backward is held to the tape, but for those whose forward takes more than a page on it; these are held to central
/// differences by `klab check` as all are.
TEST(Tape, CoversEveryBackwardExceptTheListedOnes) {
  const std::set<std::string> without = {"gs_color_bwd",     "gs_project_bwd", "gs_rasterize_abs_bwd",
                                         "gs_rasterize_bwd", "ssim_loss_bwd",  "voxel_sh_bwd"};
  std::set<std::string> held, named;
  for (const Case& c : cases()) held.insert(c.backward);
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      const std::string name(op.op.name);
      if (!name.ends_with("_bwd")) continue;
      EXPECT_NE(held.contains(name), without.contains(name))
          << name << ": add a case to tests/learning/tape_network.h or tape_rendering.h, or name it here";
      named.insert(name);
    }
  for (const std::string& name : without) EXPECT_TRUE(named.contains(name)) << name << " is no op";
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

TEST(Ways, AgreeOnOtherInputs) {
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

TEST(Graph, CountsWritesAndSkipsDeadNodes) {
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
