// Reads a formula, or a tuple of them, into a graph: "ln x1 + x1*x2 - sin x2", "x*y, sin x", "u = x*y, v = sin u".
//
// Numbers, pi, names of inputs, + - * / ^, parentheses, and the functions ln (or log), exp, sin, cos, tan, tanh, sqrt, sigmoid. A
// function takes the factor behind it, so that "sin x2 * 3" is 3 sin x2, and "sin x^2" is sin(x^2) where "sin(x)^2" is a square;
// "x1 x2" without a sign is a product. A result with a name can be used by those behind it.
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
  std::vector<size_t> results;            // nodes
  std::vector<std::string> result_names;  // as written; f, or f1, f2, ... where none is
  Expr y(size_t result = 0) { return {&graph, results.at(result)}; }
};

class FormulaReader {
 public:
  /// Throws std::invalid_argument that names the column, what is expected there, and shows the place below the text.
  static Formula read(const std::string& text) {
    FormulaReader reader(text);
    reader.read_results();
    // The graph moved with the formula; nodes are found again by their numbers.
    Formula done = std::move(reader.formula_);
    for (Expr& e : done.inputs) e.graph = &done.graph;
    return done;
  }

 private:
  static constexpr const char* kAlone =
      "a result's name stands alone before its =, as in \"u = x*y, v = sin u\"";

  explicit FormulaReader(const std::string& text) : text_(text) {
    // Parentheses are read by recursion, so the length bounds the stack.
    constexpr size_t kLongest = 4000;
    if (text.size() > kLongest)
      throw std::invalid_argument("cannot read the expression: it has " + std::to_string(text.size()) +
                                  " characters; at most " + std::to_string(kLongest) + " are read");
    declare_names();
  }

  [[noreturn]] void fail(const std::string& what) const {
    // A character of UTF-8 has one byte that is no continuation.
    size_t before = 0;
    for (size_t i = 0; i < at_; ++i) before += (static_cast<unsigned char>(text_[i]) & 0xC0U) != 0x80U;
    throw std::invalid_argument("cannot read the expression at column " + std::to_string(before + 1) + ": " +
                                what + "\n  " + text_ + "\n  " + std::string(before, ' ') + "^");
  }
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  static bool is_function(const std::string& name) {
    static const std::set<std::string> known = {"ln",  "log",  "exp",  "sin",    "cos",
                                                "tan", "tanh", "sqrt", "sigmoid"};
    return known.contains(name);
  }

  /// Calls f with each name in the text and the place behind it; the e of 1e3 is no name.
  template <class F>
  void for_each_name(F f) const {
    for (size_t i = 0; i < text_.size();) {
      if (std::isdigit(static_cast<unsigned char>(text_[i])) != 0 || text_[i] == '.') {
        char* end = nullptr;
        std::strtod(text_.c_str() + i, &end);
        i = std::max(size_t(end - text_.c_str()), i + 1);
      } else if (is_name(text_[i])) {
        const size_t begin = i;
        while (i < text_.size() && is_name(text_[i])) ++i;
        f(text_.substr(begin, i - begin), i);
      } else {
        ++i;
      }
    }
  }
  /// Inputs come first among the nodes, so that a trace begins with them.
  void declare_names() {
    for_each_name([&](const std::string& name, size_t behind) {
      while (behind < text_.size() && std::isspace(static_cast<unsigned char>(text_[behind])) != 0) ++behind;
      if (behind < text_.size() && text_[behind] == '=') named_.insert(name);
    });
    for_each_name([&](const std::string& name, size_t) {
      if (is_function(name) || name == "pi" || named_.contains(name) || input(name).has_value()) return;
      formula_.names.push_back(name);
      formula_.inputs.push_back(formula_.graph.input());
    });
  }
  std::optional<Expr> input(const std::string& name) const {
    for (size_t i = 0; i < formula_.names.size(); ++i)
      if (formula_.names[i] == name) return formula_.inputs[i];
    return std::nullopt;
  }
  /// Returns the result of this name, if it has been read.
  std::optional<Expr> result(const std::string& name) {
    for (size_t i = 0; i < formula_.results.size(); ++i)
      if (formula_.result_names[i] == name) return formula_.y(i);
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
  bool take_text(const std::string& what) {
    skip();
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }
  /// Returns the operator '*' or '/' of a product that goes on, '*' also where a factor follows without a sign; 0 at its end.
  char goes_on() {
    skip();
    if (take('*') || take_text("·")) return '*';
    if (take('/')) return '/';
    return at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == '(' || text_[at_] == '.') ? '*' : '\0';
  }

  /// Returns whether the text is one pair of parentheses around several results.
  bool is_in_parentheses() {
    skip();
    if (at_ >= text_.size() || text_[at_] != '(') return false;
    int depth = 0;
    bool several = false;
    for (size_t i = at_; i < text_.size(); ++i) {
      depth += text_[i] == '(';
      depth -= text_[i] == ')';
      several = several || (depth == 1 && (text_[i] == ',' || text_[i] == '='));
      if (depth == 0) return several && text_.find_first_not_of(" \t\n", i + 1) == std::string::npos;
    }
    return false;
  }
  void read_results() {
    const bool parentheses = is_in_parentheses();
    if (parentheses) take('(');
    do {
      const std::string name = result_name();
      skip();
      if (at_ == text_.size()) fail(formula_.results.empty() ? "it is empty" : "expected another result");
      formula_.results.push_back(sum().at);
      formula_.result_names.push_back(name);
    } while (take(','));
    if (parentheses) take(')');
    skip();
    if (at_ == text_.size() && formula_.names.empty()) fail("it has no input to derive by: name one, as x");
    if (at_ < text_.size())
      fail(text_[at_] == ')'   ? "a closing parenthesis without an opening one"
           : text_[at_] == '=' ? kAlone
                               : "expected + - * / ^ , or the end");
    name_the_nameless();
  }
  /// Reads "u =" if the next result has a name.
  std::string result_name() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string name = text_.substr(begin, at_ - begin);
    if (name.empty() || !take('=')) {
      at_ = begin;
      return "";
    }
    const bool is_number = std::isdigit(static_cast<unsigned char>(name.front())) != 0;
    const bool again = result(name).has_value();
    if (!is_number && !again && !is_function(name) && name != "pi") return name;
    at_ = begin;
    fail(is_number ? "a name begins with a letter"
         : again   ? "'" + name + "' is the name of an earlier result"
                   : "'" + name + "' has a meaning of its own: give the result another name");
  }
  /// Calls results without a name f, or f1, f2, ... by their place; g or h where an input or a result has such a name.
  void name_the_nameless() {
    const size_t count = formula_.results.size();
    for (const char* letter : {"f", "g", "h", "result"}) {
      std::vector<std::string> names = formula_.result_names;
      bool free = true;
      for (size_t i = 0; i < count; ++i) {
        if (!names[i].empty()) continue;
        names[i] = count == 1 ? letter : letter + std::to_string(i + 1);
        free = free && !input(names[i]) && !result(names[i]);
      }
      if (!free) continue;
      formula_.result_names = names;
      return;
    }
    throw std::invalid_argument("cannot read the expression: name its results, as in \"u = x*y, v = sin u\"");
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
    if (!take('^') && !take_text("**")) return base;
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
        fail("'" + name + "' is no function; there are ln, exp, sin, cos, tan, tanh, sqrt and sigmoid");
      }
      if (const auto value = input(name)) return *value;
      if (const auto value = result(name)) return *value;
      skip();
      if (at_ < text_.size() && text_[at_] == '=') fail(kAlone);
      at_ = begin;
      fail("'" + name + "' is a result that is computed further on: write it before its use");
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
    if (name == "sigmoid") {
      Graph& g = formula_.graph;
      return g.constant(1) / (g.constant(1) + exp(g.constant(-1) * of));
    }
    return log(of);
  }

  std::string text_;
  size_t at_ = 0;
  std::set<std::string> named_;  // results, also those that are not read yet
  Formula formula_;
};

}  // namespace klab::gradients
