// Reads a formula into a graph: "ln x1 + x1*x2 - sin x2".
//
// Numbers, pi, names of inputs, + - * / ^, parentheses, and the functions ln (or log), exp, sin, cos, tan, tanh, sqrt. A function
// takes the factor behind it, so that "sin x2 * 3" is 3 sin x2, and "sin x^2" is sin(x^2) where "sin(x)^2" is a square; "x1 x2"
// without a sign is a product.
#pragma once

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "labs/learning/gradients/graph.h"

namespace klab::gradients {

/// A formula as a graph, with its inputs in the order of their names' first appearance.
struct Formula {
  Graph graph;
  std::vector<std::string> names;
  std::vector<Expr> inputs;
  size_t result = 0;  // node
  Expr y() { return {&graph, result}; }
};

class FormulaReader {
 public:
  /// Throws std::invalid_argument that shows the place: "ln x1 + * x2" / "          ^ expected a number, a name, ...".
  static Formula read(const std::string& text) {
    FormulaReader reader(text);
    reader.formula_.result = reader.whole().at;
    // The graph moved with the formula; nodes are found again by their numbers.
    Formula done = std::move(reader.formula_);
    for (Expr& e : done.inputs) e.graph = &done.graph;
    return done;
  }

 private:
  explicit FormulaReader(const std::string& text) : text_(text) { declare_inputs(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("cannot read the expression: " + what + "\n  " + text_ + "\n  " +
                                std::string(at_, ' ') + "^");
  }
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  static bool is_function(const std::string& name) {
    static const std::set<std::string> known = {"ln", "log", "exp", "sin", "cos", "tan", "tanh", "sqrt"};
    return known.contains(name);
  }

  /// Inputs come first among the nodes, so that a trace begins with them.
  void declare_inputs() {
    for (size_t i = 0; i < text_.size();) {
      if (std::isdigit(static_cast<unsigned char>(text_[i])) != 0 || text_[i] == '.') {
        char* end = nullptr;
        std::strtod(text_.c_str() + i, &end);
        i = std::max(size_t(end - text_.c_str()), i + 1);
      } else if (is_name(text_[i])) {
        const size_t begin = i;
        while (i < text_.size() && is_name(text_[i])) ++i;
        const std::string name = text_.substr(begin, i - begin);
        if (is_function(name) || name == "pi" || known(name).has_value()) continue;
        formula_.names.push_back(name);
        formula_.inputs.push_back(formula_.graph.input());
      } else {
        ++i;
      }
    }
  }
  std::optional<Expr> known(const std::string& name) const {
    for (size_t i = 0; i < formula_.names.size(); ++i)
      if (formula_.names[i] == name) return formula_.inputs[i];
    return std::nullopt;
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// Returns the operator '*' or '/' of a product that goes on, '*' also where a factor follows without a sign; 0 at its end.
  char goes_on() {
    skip();
    if (take('*')) return '*';
    if (take('/')) return '/';
    return at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '(' || text_[at_] == '.') ? '*' : '\0';
  }

  Expr whole() {
    skip();
    if (at_ == text_.size()) fail("it is empty");
    const Expr e = sum();
    skip();
    if (at_ == text_.size() && formula_.names.empty()) fail("it has no input to derive by: name one, as x");
    if (at_ < text_.size())
      fail(text_[at_] == ')' ? "a closing parenthesis without an opening one"
                             : "expected + - * / ^ or the end");
    return e;
  }
  Expr sum() {
    Expr e = product();
    while (true) {
      if (take('+'))
        e = e + product();
      else if (take('-'))
        e = e - product();
      else
        return e;
    }
  }
  Expr product() {
    Expr e = signed_factor();
    while (const char sign = goes_on()) {
      const Expr next = signed_factor();
      e = sign == '*' ? e * next : e / next;
    }
    return e;
  }
  Expr signed_factor() {
    if (take('-')) return formula_.graph.constant(-1) * signed_factor();
    return factor();
  }
  Expr factor() {
    const Expr base = atom();
    if (!take('^')) return base;
    const Expr exponent = signed_factor();
    const Graph::Node node = formula_.graph.nodes()[exponent.at];
    if (node.kind == Graph::Kind::constant) return pow(base, node.constant);
    if (const auto number = constant_value(exponent)) return pow(base, *number);
    if (const auto number = constant_value(base)) {
      if (!(*number > 0)) fail("a number raised to what depends on inputs has to be above zero");
      return exp(exponent * formula_.graph.constant(std::log(*number)));
    }
    return exp(exponent * log(base));
  }
  /// Returns the value of a node that depends on no input: -2 is -1 times 2.
  std::optional<double> constant_value(Expr e) const {
    const Graph::Node n = formula_.graph.nodes()[e.at];
    if (n.kind == Graph::Kind::constant) return n.constant;
    if (n.kind == Graph::Kind::input) return std::nullopt;
    if (!constant_value({e.graph, n.a})) return std::nullopt;
    if (Graph::operands(n.kind) == 2 && !constant_value({e.graph, n.b})) return std::nullopt;
    return formula_.graph.evaluate({e}, std::vector<double>(formula_.inputs.size(), 0))[0];
  }
  Expr atom() {
    skip();
    if (take('(')) {
      const Expr e = sum();
      if (!take(')')) fail("expected a closing parenthesis");
      return e;
    }
    if (at_ < text_.size() &&
        (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.')) {
      char* end = nullptr;
      const double value = std::strtod(text_.c_str() + at_, &end);
      if (end == text_.c_str() + at_) fail("expected a number");
      at_ = size_t(end - text_.c_str());
      return formula_.graph.constant(value);
    }
    const size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string name = text_.substr(begin, at_ - begin);
    if (name.empty()) fail("expected a number, a name, a function or a parenthesis");
    if (name == "pi") return formula_.graph.constant(3.14159265358979323846);
    if (!is_function(name)) {
      skip();
      if (at_ < text_.size() && text_[at_] == '(' && name.size() > 1 &&
          !std::isdigit(static_cast<unsigned char>(name.back()))) {
        at_ = begin;
        fail("'" + name + "' is no function; there are ln, exp, sin, cos, tan, tanh and sqrt");
      }
      return *known(name);
    }
    skip();
    // sin(x)^2 is a square of a sine, sin x^2 the sine of a square.
    const bool parenthesis = at_ < text_.size() && text_[at_] == '(';
    const Expr of = parenthesis ? atom() : signed_factor();
    if (name == "exp") return exp(of);
    if (name == "sin") return sin(of);
    if (name == "cos") return cos(of);
    if (name == "tan") return sin(of) / cos(of);
    if (name == "tanh") return tanh(of);
    if (name == "sqrt") return pow(of, 0.5);
    return log(of);
  }

  std::string text_;
  size_t at_ = 0;
  Formula formula_;
};

}  // namespace klab::gradients
