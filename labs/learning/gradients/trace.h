// What the ways to a gradient do, node by node: the forward trace with its tangents, and the reverse pass with its adjoints, as
// they are written in a table on paper.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "labs/learning/gradients/expression.h"
#include "labs/learning/gradients/normal_form.h"

namespace klab::gradients {

/// One use of a node by another: what flows back along it.
struct Contribution {
  size_t from = 0;     // row that uses the node
  double adjoint = 0;  // of that row
  double slope = 0;    // of that row in this node
  double amount() const { return adjoint * slope; }
};

/// One node of the formula: v3 = ln v1.
struct TraceRow {
  std::string name;     // "v3"
  std::string formula;  // "ln v1", "x1"
  double value = 0;
  std::vector<double> tangents;  // dv3/dx_i for each input
  std::vector<size_t> operands;  // rows, each once
  std::vector<double> slopes;    // of this row in each operand
};

/// The reverse pass of one result, and its derivatives.
struct ReversePass {
  std::string name;                                // of the result: "f"
  size_t row = 0;                                  // of the result
  std::vector<double> adjoints;                    // df/dv by row
  std::vector<std::vector<Contribution>> partial;  // by row; each by decreasing row, as the pass meets them
  std::vector<std::string> symbolic;               // df/dx_i as a formula
  std::vector<std::vector<std::string>> hessian_text;
  std::vector<std::vector<double>> hessian;
};

struct FormulaTrace {
  std::vector<TraceRow> rows;  // in the order of computation
  std::vector<ReversePass> results;
  std::vector<std::string> extended;  // the nodes that the gradients add: "v8 = 1 / v1"
};

/// Traces a formula at a point, one number per input. Throws std::invalid_argument where a node is not defined there, naming the
/// node, its formula and the value that it cannot take.
class FormulaTracer {
 public:
  static FormulaTrace trace(Formula& f, const std::vector<double>& at) { return FormulaTracer(f, at).all(); }

 private:
  FormulaTracer(Formula& f, const std::vector<double>& at) : f_(f), at_(at) {
    if (at.size() != f.names.size())
      throw std::invalid_argument("the expression has " + std::to_string(f.names.size()) +
                                  " inputs, and the point " + std::to_string(at.size()) + " numbers");
  }

  FormulaTrace all() {
    const size_t nodes = f_.graph.nodes().size();
    number(nodes);
    for (size_t at = 0; at < nodes; ++at)
      if (row_of_.contains(at)) forward(at);
    for (size_t i = 0; i < f_.results.size(); ++i) back(i);
    derivatives(nodes);
    return std::move(trace_);
  }

  static const char* word(Graph::Kind kind) {
    switch (kind) {
      case Graph::Kind::log:
        return "ln";
      case Graph::Kind::exp:
        return "exp";
      case Graph::Kind::sin:
        return "sin";
      case Graph::Kind::cos:
        return "cos";
      case Graph::Kind::tanh:
        return "tanh";
      default:
        return "";
    }
  }
  static const char* sign(Graph::Kind kind) {
    return kind == Graph::Kind::add        ? "+"
           : kind == Graph::Kind::subtract ? "-"
           : kind == Graph::Kind::multiply ? "·"
                                           : "/";
  }

  /// Gives v1, v2, ... to the inputs and to what the results depend on; numbers stand in formulas as they are.
  void number(size_t nodes) {
    std::vector<bool> live(nodes, false);
    for (const size_t result : f_.results) live[result] = true;
    for (size_t at = nodes; at-- > 0;) {
      const Graph::Node& n = f_.graph.nodes()[at];
      if (!live[at]) continue;
      if (Graph::operands(n.kind) >= 1) live[n.a] = true;
      if (Graph::operands(n.kind) == 2) live[n.b] = true;
    }
    for (size_t at = 0; at < nodes; ++at) {
      const Graph::Node& n = f_.graph.nodes()[at];
      const bool alone =
          n.kind == Graph::Kind::constant && std::ranges::find(f_.results, at) == f_.results.end();
      if (n.kind == Graph::Kind::input || (live[at] && !alone)) row_of_.emplace(at, row_of_.size());
    }
  }
  std::string name_of(size_t at) const {
    const auto row = row_of_.find(at);
    if (row != row_of_.end()) return "v" + std::to_string(row->second + 1);
    const auto extra = extra_.find(at);
    if (extra != extra_.end()) return extra->second;
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.6g", f_.graph.nodes()[at].constant);
    return buffer;
  }
  std::string formula_of(size_t at) const {
    const Graph::Node& n = f_.graph.nodes()[at];
    switch (n.kind) {
      case Graph::Kind::input:
        return f_.names.at(at);
      case Graph::Kind::constant:
        return "= " + name_of(at);
      case Graph::Kind::add:
      case Graph::Kind::subtract:
      case Graph::Kind::multiply:
      case Graph::Kind::divide:
        return name_of(n.a) + " " + sign(n.kind) + " " + name_of(n.b);
      case Graph::Kind::power: {
        if (n.constant == 0.5) return "sqrt " + name_of(n.a);
        char buffer[32];
        std::snprintf(buffer, sizeof buffer, "%.6g", n.constant);
        return name_of(n.a) + "^" + buffer;
      }
      default:
        return std::string(word(n.kind)) + " " + name_of(n.a);
    }
  }

  void forward(size_t at) {
    const Graph::Node n = f_.graph.nodes()[at];
    TraceRow row{.name = name_of(at),
                 .formula = formula_of(at),
                 .tangents = std::vector<double>(f_.names.size(), 0),
                 .operands = {},
                 .slopes = {}};
    row.value = f_.graph.evaluate({{&f_.graph, at}}, at_)[0];
    if (n.kind == Graph::Kind::input) row.tangents.at(at) = 1;
    if (!std::isfinite(row.value)) refuse(row, n);
    const int count = Graph::operands(n.kind);
    if (count > 0) {
      const auto [by_a, by_b] = f_.graph.slopes(at);
      const std::vector<double> slopes = f_.graph.evaluate({by_a, by_b}, at_);
      for (int k = 0; k < count; ++k) {
        const auto operand = row_of_.find(k == 0 ? n.a : n.b);
        if (operand == row_of_.end()) continue;  // a number
        if (!std::isfinite(slopes[size_t(k)]))
          throw std::invalid_argument("the slope of " + row.name + " = " + row.formula +
                                      " is not finite at this point: choose another with --at");
        if (!row.operands.empty() &&
            row.operands.front() == operand->second) {  // x·x: both slopes are in one
          row.slopes.front() += slopes[size_t(k)];
        } else {
          row.operands.push_back(operand->second);
          row.slopes.push_back(slopes[size_t(k)]);
        }
        for (size_t i = 0; i < row.tangents.size(); ++i)
          row.tangents[i] += slopes[size_t(k)] * trace_.rows[operand->second].tangents[i];
      }
    }
    trace_.rows.push_back(std::move(row));
  }
  [[noreturn]] void refuse(const TraceRow& row, const Graph::Node& n) const {
    char buffer[64] = "";
    const auto operand = row_of_.find(n.kind == Graph::Kind::divide ? n.b : n.a);
    if (Graph::operands(n.kind) > 0 && operand != row_of_.end())
      std::snprintf(buffer, sizeof buffer, ", and %s is %.6g", trace_.rows[operand->second].name.c_str(),
                    trace_.rows[operand->second].value);
    throw std::invalid_argument("the expression is not defined at this point: " + row.name + " = " +
                                row.formula + buffer + "; choose another with --at");
  }

  void back(size_t result) {
    const size_t count = trace_.rows.size();
    ReversePass pass{.name = f_.result_names[result],
                     .row = row_of_.at(f_.results[result]),
                     .adjoints = std::vector<double>(count, 0),
                     .partial = std::vector<std::vector<Contribution>>(count),
                     .symbolic = {},
                     .hessian_text = {},
                     .hessian = {}};
    std::vector<bool> reached(count, false);
    reached[pass.row] = true;
    pass.adjoints[pass.row] = 1;
    for (size_t at = pass.row + 1; at-- > 0;) {
      if (!reached[at]) continue;
      for (const Contribution& c : pass.partial[at]) pass.adjoints[at] += c.amount();
      const TraceRow& row = trace_.rows[at];
      for (size_t k = 0; k < row.operands.size(); ++k) {
        reached[row.operands[k]] = true;
        pass.partial[row.operands[k]].push_back({at, pass.adjoints[at], row.slopes[k]});
      }
    }
    trace_.results.push_back(std::move(pass));
  }

  void derivatives(size_t nodes) {
    Graph& g = f_.graph;
    std::vector<std::vector<Expr>> first;
    for (size_t r = 0; r < f_.results.size(); ++r) {
      first.push_back(g.gradient(f_.y(r), f_.inputs));
      for (const Expr d : first.back())
        trace_.results[r].symbolic.push_back(NormalForm::text(g, d, f_.names));
    }
    // What the gradients compute beyond the function, dead nodes left out.
    std::vector<bool> live(g.nodes().size(), false);
    for (const auto& row : first)
      for (const Expr d : row) live[d.at] = true;
    for (size_t at = g.nodes().size(); at-- > nodes;) {
      const Graph::Node& n = g.nodes()[at];
      if (!live[at]) continue;
      if (Graph::operands(n.kind) >= 1) live[n.a] = true;
      if (Graph::operands(n.kind) == 2) live[n.b] = true;
    }
    size_t next = trace_.rows.size();
    for (size_t at = nodes; at < g.nodes().size(); ++at)
      if (live[at] && g.nodes()[at].kind != Graph::Kind::constant) {
        extra_.emplace(at, "v" + std::to_string(++next));
        trace_.extended.push_back(extra_.at(at) + " = " + formula_of(at));
      }
    for (size_t r = 0; r < first.size(); ++r) {
      ReversePass& result = trace_.results[r];
      for (size_t i = 0; i < first[r].size(); ++i) {
        trace_.extended.push_back("d" + result.name + "/d" + f_.names[i] + " = " + name_of(first[r][i].at));
        const std::vector<Expr> second = g.gradient(first[r][i], f_.inputs);
        result.hessian.push_back(g.evaluate(second, at_));
        result.hessian_text.emplace_back();
        for (const Expr e : second) result.hessian_text.back().push_back(NormalForm::text(g, e, f_.names));
      }
    }
  }

  Formula& f_;
  std::vector<double> at_;
  FormulaTrace trace_;
  std::map<size_t, size_t> row_of_;      // node -> row
  std::map<size_t, std::string> extra_;  // node that the gradient added -> name
};

}  // namespace klab::gradients
