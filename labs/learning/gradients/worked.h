// The example and the small network on which the ways to compute a gradient are compared.
#pragma once

#include <cmath>
#include <vector>

#include "labs/learning/gradients/dual.h"
#include "labs/learning/gradients/graph.h"
#include "labs/learning/gradients/layers.h"
#include "labs/learning/gradients/numerical.h"
#include "labs/learning/gradients/tape.h"

namespace klab::gradients {

/// The function f = ln x1 + x1·x2 − sin x2, for any number type. At (2, 5): 11.652, gradient (5.5, 1.716).
struct Worked {
  template <class T>
  T operator()(const std::vector<T>& x) const {
    using std::log;
    using std::sin;
    return log(x[0]) + x[0] * x[1] - sin(x[1]);
  }
};

/// A value and a gradient, with the method that computed them.
struct Way {
  const char* name;
  double value = 0;
  std::vector<double> gradient;
  int passes = 0;  // number of passes through the function or its backward
};

/// Computes the worked example in four ways.
inline std::vector<Way> four_ways(const std::vector<double>& x) {
  const Worked f;
  std::vector<Way> ways;
  ways.push_back({"numerical, central", f(x), numerical_gradient(f, x), 2 * int(x.size())});

  int passes = 0;
  const std::vector<double> forward = forward_gradient(f, x, &passes);
  ways.push_back({"forward, dual numbers", f(std::vector<Dual>(x.begin(), x.end())).value, forward, passes});

  Tape t;
  const Tape::Value x1 = t.input({}, {x[0]}), x2 = t.input({}, {x[1]});
  const Tape::Value y = t.subtract(t.add(t.log(x1), t.multiply(x1, x2)), t.sin(x2));
  t.backward(y);
  ways.push_back({"reverse, a tape", t.data(y)[0], {t.gradient(x1)[0], t.gradient(x2)[0]}, 1});

  Graph graph;
  const std::vector<Expr> inputs = {graph.input(), graph.input()};
  const Expr e = f(inputs);
  const std::vector<Expr> d = graph.gradient(e, inputs);
  const std::vector<double> values = graph.evaluate({e, d[0], d[1]}, x);
  ways.push_back({"reverse, a graph", values[0], {values[1], values[2]}, 1});
  return ways;
}

/// Returns the second derivatives of the worked example: the gradient's gradient, row by row.
inline std::vector<std::vector<double>> hessian(const std::vector<double>& x) {
  Graph graph;
  const std::vector<Expr> inputs = {graph.input(), graph.input()};
  std::vector<std::vector<double>> rows;
  for (const Expr d : graph.gradient(Worked{}(inputs), inputs))
    rows.push_back(graph.evaluate(graph.gradient(d, inputs), x));
  return rows;
}

/// Multiplications needed for all n derivatives of x1·x2·…·xn: by the rules on paper, and by reverse mode in
/// a graph.
struct ProductCost {
  int64_t written = 0;  // n(n-2)
  int64_t reverse = 0;  // O(n), including the product itself
};
inline ProductCost product_cost(int n) {
  const auto product = [n](Graph& graph, std::vector<Expr>& x) {
    for (int i = 0; i < n; ++i) x.push_back(graph.input());
    Expr y = x[0];
    for (size_t i = 1; i < x.size(); ++i) y = y * x[i];
    return y;
  };
  ProductCost cost;
  Graph paper, shared;
  std::vector<Expr> x, z;
  const Expr y = product(paper, x);
  for (const Expr one : x) cost.written += paper.written_multiplications(paper.symbolic(y, one));
  const Expr w = product(shared, z);
  cost.reverse = shared.operations(shared.gradient(w, z));
  return cost;
}

/// Computes the gradient of y = w2·tanh(W1·x) with respect to W1 and w2, in three framework designs. `w`
/// holds W1 [hidden,in] and w2 [hidden].
inline std::vector<Way> three_designs(const std::vector<double>& x, const std::vector<double>& w) {
  const size_t in = x.size(), hidden = w.size() / (in + 1);
  const auto split = w.begin() + std::ptrdiff_t(hidden * in);
  std::vector<Way> ways;

  Linear first(in, {w.begin(), split}), second(hidden, {split, w.end()});
  Tanh curve;
  const double value = second.forward(curve.forward(first.forward(x)))[0];
  first.backward(curve.backward(second.backward({1})));
  std::vector<double> gradient = first.gradient;
  gradient.insert(gradient.end(), second.gradient.begin(), second.gradient.end());
  ways.push_back({"layers with own backward", value, gradient, 1});

  Graph graph;
  std::vector<Expr> weights;
  for (size_t i = 0; i < w.size(); ++i) weights.push_back(graph.input());
  Expr y = graph.constant(0);
  for (size_t h = 0; h < hidden; ++h) {
    Expr sum = graph.constant(0);
    for (size_t i = 0; i < in; ++i) sum = sum + weights[h * in + i] * graph.constant(x[i]);
    y = y + weights[hidden * in + h] * tanh(sum);
  }
  std::vector<Expr> wanted = graph.gradient(y, weights);
  wanted.push_back(y);
  std::vector<double> values = graph.evaluate(wanted, w);
  const double graph_value = values.back();
  values.pop_back();
  ways.push_back({"a graph first", graph_value, values, 1});

  Tape t;
  const Tape::Value w1 = t.input({int64_t(hidden), int64_t(in)}, {w.begin(), split});
  const Tape::Value w2 = t.input({1, int64_t(hidden)}, {split, w.end()});
  const Tape::Value out = t.matmul(w2, t.tanh(t.matmul(w1, t.input({int64_t(in), 1}, x))));
  t.backward(out);
  gradient = t.gradient(w1);
  gradient.insert(gradient.end(), t.gradient(w2).begin(), t.gradient(w2).end());
  ways.push_back({"define by run", t.data(out)[0], gradient, 1});
  return ways;
}

}  // namespace klab::gradients
