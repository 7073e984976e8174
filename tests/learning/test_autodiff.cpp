// The trace of an expression: values, tangents, adjoints, formulas and second derivatives of `klab autodiff`, held to differences
// and to each other; and the adjoints of tuples and dictionaries.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "labs/learning/gradients/drawing.h"
#include "labs/learning/gradients/numerical.h"
#include "labs/learning/gradients/structures.h"
#include "labs/learning/gradients/trace.h"

namespace klab {
namespace {

using namespace gradients;

FormulaTrace traced(const std::string& text, const std::vector<double>& at) {
  Formula f = FormulaReader::read(text);
  return FormulaTracer::trace(f, at);
}

std::string error_of(const std::string& text, const std::vector<double>& at) {
  try {
    traced(text, at);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(Autodiff, TheWorkedExampleHasItsTable) {
  const FormulaTrace t = traced("ln x1 + x1*x2 - sin x2", {2, 5});
  ASSERT_EQ(t.rows.size(), 7U);
  EXPECT_EQ(t.rows[2].formula, "ln v1");
  EXPECT_NEAR(t.rows.back().value, 11.652, 1e-3);
  EXPECT_DOUBLE_EQ(t.rows[0].adjoint, 5.5);
  EXPECT_NEAR(t.rows[1].adjoint, 1.716, 1e-3);
  // x1 is used twice: 5 comes back through the product, 0.5 through the logarithm.
  ASSERT_EQ(t.rows[0].partial.size(), 2U);
  EXPECT_DOUBLE_EQ(t.rows[0].partial[0].amount(), 5);
  EXPECT_DOUBLE_EQ(t.rows[0].partial[1].amount(), 0.5);
  EXPECT_EQ(t.symbolic, (std::vector<std::string>{"1/x1 + x2", "x1 - cos x2"}));
  EXPECT_EQ(t.hessian_text[0][0], "-1/x1^2");
  EXPECT_NEAR(t.hessian[1][1], std::sin(5), 1e-12);
}

TEST(Autodiff, TangentsAdjointsFormulasAndDifferencesAgree) {
  for (const auto& [text, at] :
       std::vector<std::pair<std::string, std::vector<double>>>{{"(a + b)^2/(a - b)", {3, 1}},
                                                                {"sqrt(x)/exp(-x*y) + tan y", {2, 1}},
                                                                {"tanh(w x + b)^3 - 2^x", {0.5, -1.5, 0.25}},
                                                                {"x^x + x*x*x - (x/3)^-2", {1.7}},
                                                                {"cos(pi*x) sin(y)^2 ln(1 + x^2)", {0.3, 2}},
                                                                {"u - u + 0*u + 4", {2}}}) {
    const FormulaTrace t = traced(text, at);
    const auto value = [&, text = text](const std::vector<double>& x) {
      return traced(text, x).rows.back().value;
    };
    const std::vector<double> numeric = numerical_gradient(value, at);
    for (size_t i = 0; i < at.size(); ++i) {
      const double exact = t.rows[i].adjoint, size = std::max(1.0, std::abs(exact));
      EXPECT_NEAR(t.rows.back().tangents[i], exact, 1e-12 * size) << text;
      EXPECT_NEAR(numeric[i], exact, 1e-6 * size) << text;
      for (size_t j = 0; j < at.size(); ++j)
        EXPECT_NEAR(t.hessian[i][j], t.hessian[j][i], 1e-9 * size * size) << text;
      // The formula, read again, has the value of the derivative; · is written for a person.
      std::string formula = t.symbolic[i];
      for (size_t dot = formula.find("·"); dot != std::string::npos; dot = formula.find("·"))
        formula.replace(dot, 2, "*");
      Formula again = FormulaReader::read(formula + " + 0*" + FormulaReader::read(text).names[0]);
      std::vector<double> point;
      const Formula whole = FormulaReader::read(text);
      for (const std::string& name : again.names)
        point.push_back(at[size_t(std::ranges::find(whole.names, name) - whole.names.begin())]);
      EXPECT_NEAR(FormulaTracer::trace(again, point).rows.back().value, exact, 1e-4 * size)
          << text << ": " << formula;
    }
  }
}

TEST(Autodiff, ErrorsShowThePlace) {
  EXPECT_NE(error_of("x + * y", {1, 1}).find("  x + * y\n      ^"), std::string::npos);
  EXPECT_NE(error_of("(x", {1}).find("closing parenthesis"), std::string::npos);
  EXPECT_NE(error_of("x)", {1}).find("without an opening one"), std::string::npos);
  EXPECT_NE(error_of("foo(x)", {1}).find("'foo' is no function"), std::string::npos);
  EXPECT_NE(error_of("", {}).find("empty"), std::string::npos);
  EXPECT_NE(error_of("3", {}).find("no input"), std::string::npos);
  EXPECT_NE(error_of("x $ 2", {1}).find("expected"), std::string::npos);
  EXPECT_NE(error_of("(-2)^x", {1}).find("above zero"), std::string::npos);
  EXPECT_NE(error_of("1 + ln(x - 3)", {2}).find("v3 = ln v2, and v2 is -1"), std::string::npos)
      << error_of("1 + ln(x - 3)", {2});
  EXPECT_NE(error_of("1/x", {0}).find("not defined"), std::string::npos);
  EXPECT_NE(error_of("sqrt x", {0}).find("slope"), std::string::npos);
  EXPECT_NE(error_of("x y", {1}).find("2 inputs"), std::string::npos);
}

TEST(Autodiff, TheDrawingHasEveryNodeAndSlope) {
  const FormulaTrace t = traced("x1*x2 + sin x1", {2, 3});
  const std::string svg = svg_of(t);
  for (const TraceRow& row : t.rows) EXPECT_NE(svg.find(row.name + " = " + row.formula), std::string::npos);
  size_t edges = 0;
  for (size_t at = svg.find("<path"); at != std::string::npos; at = svg.find("<path", at + 1)) ++edges;
  EXPECT_EQ(edges, 5U);
}

TEST(Structures, AGradientHasTheStructureOfItsParameters) {
  using S = Structure<Tape::Value>;
  Tape t;
  const S parameters(
      S::Dictionary{{"layers", S(S::Tuple{S(t.input({2, 2}, {1, 2, 3, 4})),
                                          S(S::Dictionary{{"scale", S(t.input({2, 1}, {5, 6}))}})})},
                    {"unused", S(t.input({3}, {7, 8, 9}))}});
  const Tape::Value w = parameters["layers"][0].tensor(), s = parameters["layers"][1]["scale"].tensor();
  t.backward(t.add(t.sum(t.matmul(w, s)), t.sum(s)));  // the scale is taken out twice
  const Structure<TensorNumbers> g = gradient_of(t, parameters);
  EXPECT_EQ(g["layers"][0].tensor(), (TensorNumbers{5, 6, 5, 6}));
  EXPECT_EQ(g["layers"][1]["scale"].tensor(), (TensorNumbers{1 + 3 + 1, 2 + 4 + 1}));
  EXPECT_EQ(g["unused"].tensor(), (TensorNumbers{0, 0, 0}));
  EXPECT_THROW(g["layer"], std::invalid_argument);
  EXPECT_THROW(g["layers"][2], std::invalid_argument);
  EXPECT_THROW(g[size_t(0)], std::invalid_argument);
  EXPECT_THROW(g["layers"].tensor(), std::invalid_argument);
}

}  // namespace
}  // namespace klab
