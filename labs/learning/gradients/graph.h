// A graph whose backward is a graph: supports derivatives of derivatives, and computes only what is
// requested.
//
// Writing an expression computes nothing: it creates nodes. The gradient adds more nodes of the same kinds,
// so it can be differentiated again, printed and counted. Evaluation then visits only nodes on which the
// requested outputs depend. Nodes are scalars, so that the page stays short; a framework uses tensors
// instead.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace klab::gradients {

class Graph {
 public:
  enum class Kind { input, constant, add, subtract, multiply, divide, log, exp, sin, cos, tanh, power };
  struct Node {
    Kind kind;
    size_t a = 0, b = 0;  // operands
    double constant = 0;  // of a power: the exponent
  };
  /// A node of a graph.
  struct Expr {
    Graph* graph;
    size_t at;
  };

  Expr input() { return add_node({.kind = Kind::input}); }
  Expr constant(double c) { return add_node({.kind = Kind::constant, .constant = c}); }
  const std::vector<Node>& nodes() const { return nodes_; }

  /// Returns a new node, or the operand that it would equal: 0·a is 0, 1·a and a + 0 are a.
  Expr make(Kind kind, Expr a, Expr b) {
    if (kind == Kind::multiply && (is(a, 0) || is(b, 0))) return constant(0);
    if (kind == Kind::multiply && is(a, 1)) return b;
    if ((kind == Kind::multiply || kind == Kind::divide) && is(b, 1)) return a;
    if (kind == Kind::add && is(a, 0)) return b;
    if ((kind == Kind::add || kind == Kind::subtract) && is(b, 0)) return a;
    return add_node({.kind = kind, .a = a.at, .b = b.at});
  }
  Expr make(Kind kind, Expr a) { return add_node({.kind = kind, .a = a.at}); }
  /// Returns a to a constant exponent.
  Expr power(Expr a, double exponent) {
    if (exponent == 0) return constant(1);
    return exponent == 1 ? a : add_node({.kind = Kind::power, .a = a.at, .constant = exponent});
  }
  static int operands(Kind kind) { return kind <= Kind::constant ? 0 : kind <= Kind::divide ? 2 : 1; }
  /// Returns the derivatives of node `at` with respect to its operands a and b.
  std::pair<Expr, Expr> slopes(size_t at);

  /// Reverse mode: adds nodes that compute the derivatives of y with respect to each of `x`.
  std::vector<Expr> gradient(Expr y, const std::vector<Expr>& x);
  /// Applies the rules of differentiation from the top of the expression down, sharing nothing between two
  /// derivatives, as a table of formulas does.
  Expr symbolic(Expr y, Expr x);

  /// Returns the values of the requested nodes. `inputs` are in the order in which input nodes were created.
  /// Computes only the nodes that they depend on: dead code is skipped.
  std::vector<double> evaluate(const std::vector<Expr>& wanted, const std::vector<double>& inputs) const;
  /// Returns how many operations (nodes that are neither input nor constant) evaluate() computes for these
  /// nodes.
  int64_t operations(const std::vector<Expr>& wanted) const;
  /// Returns the multiplications in the expression as written on paper: one that is used twice counts twice.
  int64_t written_multiplications(Expr y) const;

 private:
  Expr add_node(const Node& n) {
    nodes_.push_back(n);
    return {this, nodes_.size() - 1};
  }
  bool is(Expr e, double c) const {
    return nodes_[e.at].kind == Kind::constant && nodes_[e.at].constant == c;
  }
  std::vector<bool> needed(const std::vector<Expr>& wanted) const;

  std::vector<Node> nodes_;
};

using Expr = Graph::Expr;
inline Expr operator+(Expr a, Expr b) { return a.graph->make(Graph::Kind::add, a, b); }
inline Expr operator-(Expr a, Expr b) { return a.graph->make(Graph::Kind::subtract, a, b); }
inline Expr operator*(Expr a, Expr b) { return a.graph->make(Graph::Kind::multiply, a, b); }
inline Expr operator/(Expr a, Expr b) { return a.graph->make(Graph::Kind::divide, a, b); }
inline Expr log(Expr a) { return a.graph->make(Graph::Kind::log, a); }
inline Expr exp(Expr a) { return a.graph->make(Graph::Kind::exp, a); }
inline Expr sin(Expr a) { return a.graph->make(Graph::Kind::sin, a); }
inline Expr cos(Expr a) { return a.graph->make(Graph::Kind::cos, a); }
inline Expr tanh(Expr a) { return a.graph->make(Graph::Kind::tanh, a); }
inline Expr pow(Expr a, double exponent) { return a.graph->power(a, exponent); }

inline std::pair<Expr, Expr> Graph::slopes(size_t at) {
  const Node n = nodes_[at];
  const Expr a{this, n.a}, b{this, n.b}, self{this, at}, zero = constant(0), one = constant(1);
  switch (n.kind) {
    case Kind::add:
      return {one, one};
    case Kind::subtract:
      return {one, constant(-1)};
    case Kind::multiply:
      return {b, a};
    case Kind::divide:
      return {one / b, zero - self / b};
    case Kind::log:
      return {one / a, zero};
    case Kind::exp:
      return {self, zero};
    case Kind::sin:
      return {cos(a), zero};
    case Kind::cos:
      return {zero - sin(a), zero};
    case Kind::tanh:
      return {one - self * self, zero};
    case Kind::power:
      return {constant(n.constant) * power(a, n.constant - 1), zero};
    default:
      return {zero, zero};
  }
}

inline std::vector<bool> Graph::needed(const std::vector<Expr>& wanted) const {
  std::vector<bool> live(nodes_.size(), false);
  for (const Expr e : wanted) live[e.at] = true;
  for (size_t at = nodes_.size(); at-- > 0;) {
    if (!live[at]) continue;
    if (operands(nodes_[at].kind) >= 1) live[nodes_[at].a] = true;
    if (operands(nodes_[at].kind) == 2) live[nodes_[at].b] = true;
  }
  return live;
}

inline std::vector<Expr> Graph::gradient(Expr y, const std::vector<Expr>& x) {
  // node -> expression of the derivative of y with respect to it
  std::map<size_t, Expr> reached = {{y.at, constant(1)}};
  const auto reach = [&](size_t operand, Expr by) {
    const auto at = reached.find(operand);
    if (at == reached.end())
      reached.emplace(operand, by);
    else
      at->second = at->second + by;
  };
  for (size_t at = y.at + 1; at-- > 0;) {
    const auto found = reached.find(at);
    const int count = operands(nodes_[at].kind);
    if (found == reached.end() || count == 0) continue;
    const Node n = nodes_[at];
    const Expr above = found->second;
    const auto [by_a, by_b] = slopes(at);
    reach(n.a, above * by_a);
    if (count == 2) reach(n.b, above * by_b);
  }
  std::vector<Expr> list;
  for (const Expr e : x) {
    const auto found = reached.find(e.at);
    list.push_back(found == reached.end() ? constant(0) : found->second);
  }
  return list;
}

inline Expr Graph::symbolic(Expr y, Expr x) {
  const Node n = nodes_[y.at];
  if (y.at == x.at) return constant(1);
  if (operands(n.kind) == 0) return constant(0);
  const Expr by_a = symbolic({this, n.a}, x);
  const Expr by_b = operands(n.kind) == 2 ? symbolic({this, n.b}, x) : constant(0);
  const auto [slope_a, slope_b] = slopes(y.at);
  return by_a * slope_a + by_b * slope_b;
}

inline std::vector<double> Graph::evaluate(const std::vector<Expr>& wanted,
                                           const std::vector<double>& inputs) const {
  const std::vector<bool> live = needed(wanted);
  std::vector<double> v(nodes_.size());
  size_t next = 0;
  for (size_t at = 0; at < nodes_.size(); ++at) {
    const Node& n = nodes_[at];
    if (n.kind == Kind::input) {
      if (next == inputs.size()) throw std::invalid_argument("graph: more inputs than values");
      v[at] = inputs[next++];
    }
    if (!live[at]) continue;
    const double a = v[n.a], b = v[n.b];
    switch (n.kind) {
      case Kind::input:
        break;
      case Kind::constant:
        v[at] = n.constant;
        break;
      case Kind::add:
        v[at] = a + b;
        break;
      case Kind::subtract:
        v[at] = a - b;
        break;
      case Kind::multiply:
        v[at] = a * b;
        break;
      case Kind::divide:
        v[at] = a / b;
        break;
      case Kind::log:
        v[at] = std::log(a);
        break;
      case Kind::exp:
        v[at] = std::exp(a);
        break;
      case Kind::sin:
        v[at] = std::sin(a);
        break;
      case Kind::cos:
        v[at] = std::cos(a);
        break;
      case Kind::tanh:
        v[at] = std::tanh(a);
        break;
      case Kind::power:
        v[at] = std::pow(a, n.constant);
        break;
    }
  }
  std::vector<double> values;
  for (const Expr e : wanted) values.push_back(v[e.at]);
  return values;
}

inline int64_t Graph::operations(const std::vector<Expr>& wanted) const {
  const std::vector<bool> live = needed(wanted);
  int64_t count = 0;
  for (size_t at = 0; at < nodes_.size(); ++at) count += live[at] && operands(nodes_[at].kind) > 0;
  return count;
}

inline int64_t Graph::written_multiplications(Expr y) const {
  const Node& n = nodes_[y.at];
  int64_t count = n.kind == Kind::multiply;
  if (operands(n.kind) >= 1) count += written_multiplications({y.graph, n.a});
  if (operands(n.kind) == 2) count += written_multiplications({y.graph, n.b});
  return count;
}

}  // namespace klab::gradients
