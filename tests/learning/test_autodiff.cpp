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
  ASSERT_EQ(t.results.size(), 1U);
  const ReversePass& f = t.results[0];
  EXPECT_DOUBLE_EQ(f.adjoints[0], 5.5);
  EXPECT_NEAR(f.adjoints[1], 1.716, 1e-3);
  // x1 is used twice: 5 comes back through the product, 0.5 through the logarithm.
  ASSERT_EQ(f.partial[0].size(), 2U);
  EXPECT_DOUBLE_EQ(f.partial[0][0].amount(), 5);
  EXPECT_DOUBLE_EQ(f.partial[0][1].amount(), 0.5);
  EXPECT_EQ(f.symbolic, (std::vector<std::string>{"1/x1 + x2", "x1 - cos x2"}));
  EXPECT_EQ(f.hessian_text[0][0], "-1/x1^2");
  EXPECT_NEAR(f.hessian[1][1], std::sin(5), 1e-12);
}

TEST(Autodiff, TangentsAdjointsFormulasAndDifferencesAgree) {
  for (const auto& [text, at] :
       std::vector<std::pair<std::string, std::vector<double>>>{{"(a + b)^2/(a - b)", {3, 1}},
                                                                {"sqrt(x)/exp(-x*y) + tan y", {2, 1}},
                                                                {"tanh(w x + b)^3 - 2^x", {0.5, -1.5, 0.25}},
                                                                {"x^x + x*x*x - (x/3)^-2", {1.7}},
                                                                {"cos(pi*x) sin(y)^2 ln(1 + x^2)", {0.3, 2}},
                                                                {"u - u + 0*u + 4", {2}},
                                                                {"sigmoid(2*x)*y**2", {0.4, 3}}}) {
    const FormulaTrace t = traced(text, at);
    const auto value = [&, text = text](const std::vector<double>& x) {
      return traced(text, x).rows.back().value;
    };
    const std::vector<double> numeric = numerical_gradient(value, at);
    for (size_t i = 0; i < at.size(); ++i) {
      const double exact = t.results[0].adjoints[i], size = std::max(1.0, std::abs(exact));
      EXPECT_NEAR(t.rows.back().tangents[i], exact, 1e-12 * size) << text;
      EXPECT_NEAR(numeric[i], exact, 1e-6 * size) << text;
      for (size_t j = 0; j < at.size(); ++j)
        EXPECT_NEAR(t.results[0].hessian[i][j], t.results[0].hessian[j][i], 1e-9 * size * size) << text;
      // The formula, read again, has the value of the derivative; · is written for a person.
      std::string formula = t.results[0].symbolic[i];
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

TEST(Autodiff, SeveralResultsHaveAJacobian) {
  for (const char* text : {"x*y, sin(x*y) + y", "(x·y, sin(x y) + y)", "f1 = x*y, f2 = sin f1 + y"}) {
    const FormulaTrace t = traced(text, {2, 3});
    ASSERT_EQ(t.results.size(), 2U) << text;
    const ReversePass &f1 = t.results[0], &f2 = t.results[1];
    EXPECT_EQ(f1.name, "f1");
    EXPECT_EQ(f2.name, "f2");
    EXPECT_DOUBLE_EQ(t.rows[f1.row].value, 6);
    EXPECT_DOUBLE_EQ(t.rows[f2.row].value, std::sin(6) + 3);
    const std::vector<std::vector<double>> jacobian = {{3, 2}, {3 * std::cos(6), 2 * std::cos(6) + 1}};
    for (size_t r = 0; r < 2; ++r)
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(t.results[r].adjoints[i], jacobian[r][i], 1e-14) << text;
        EXPECT_NEAR(t.rows[t.results[r].row].tangents[i], jacobian[r][i], 1e-14) << text;
      }
    EXPECT_NEAR(f2.hessian[0][1], std::cos(6) - 6 * std::sin(6), 1e-13) << text;
    EXPECT_EQ(f1.symbolic, (std::vector<std::string>{"y", "x"}));
    EXPECT_EQ(f2.symbolic[0], "cos(x·y)·y");
  }
  // A result that another uses is one node with a pass of its own, which the other's nodes do not enter.
  const FormulaTrace named = traced("u = x*x, v = sin u + u", {0.5});
  ASSERT_EQ(named.rows.size(), 4U);
  EXPECT_EQ(named.results[1].partial[1].size(), 2U);
  EXPECT_EQ(named.results[0].adjoints, (std::vector<double>{1, 1, 0, 0}));
  EXPECT_NEAR(named.results[1].adjoints[0], 1 + std::cos(0.25), 1e-15);
  // Names that inputs have are not given to results.
  EXPECT_EQ(traced("f*f", {2}).results[0].name, "g");
  EXPECT_EQ(traced("f2*x, x, 3", {2, 2}).results[2].name, "g3");
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
  EXPECT_NE(error_of("2·x + * y", {1, 1}).find("at column 7: expected"), std::string::npos);
  EXPECT_NE(error_of("2·x + * y", {1, 1}).find("  2·x + * y\n        ^"), std::string::npos);
  EXPECT_NE(error_of("x, ", {1}).find("expected another result"), std::string::npos);
  EXPECT_NE(error_of("v = u + 1, u = x", {1}).find("'u' is a result that is computed further on"),
            std::string::npos);
  EXPECT_NE(error_of("u = x, u = x*x", {1}).find("earlier result"), std::string::npos);
  EXPECT_NE(error_of("sin = x", {1}).find("meaning of its own"), std::string::npos);
  EXPECT_NE(error_of("x + u = 2", {1}).find("stands alone"), std::string::npos);
  EXPECT_NE(error_of("x, ln(y)", {1, -1}).find("v3 = ln v2, and v2 is -1"), std::string::npos);
  EXPECT_NE(error_of(std::string(5000, '('), {}).find("at most 4000"), std::string::npos);
}

TEST(Autodiff, TheDrawingHasEveryNodeAndSlope) {
  const FormulaTrace t = traced("x1*x2 + sin x1", {2, 3});
  const std::string svg = svg_of(t);
  for (const TraceRow& row : t.rows) EXPECT_NE(svg.find(row.name + " = " + row.formula), std::string::npos);
  size_t edges = 0;
  for (size_t at = svg.find("<path"); at != std::string::npos; at = svg.find("<path", at + 1)) ++edges;
  EXPECT_EQ(edges, 5U);
  EXPECT_NE(svg_of(traced("x*y, x + y", {2, 3})).find(">3, 1</text>"), std::string::npos);
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
