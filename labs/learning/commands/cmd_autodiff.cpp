// klab autodiff: four ways to compute one gradient, on an example that can be checked by hand; or the trace of any expression.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "harness/cli/command.h"
#include "harness/records/atomic_file.h"
#include "harness/report/page.h"
#include "harness/report/table.h"
#include "labs/learning/gradients/drawing.h"
#include "labs/learning/gradients/structures.h"
#include "labs/learning/gradients/trace.h"
#include "labs/learning/gradients/worked.h"

namespace klab::autodiff_command {
namespace {

using namespace gradients;

constexpr const char* kWorked = "ln x1 + x1*x2 - sin x2";

struct Options {
  std::optional<std::string> expression;
  std::vector<std::string> at;
  bool trace = false;
  std::string html, svg;
};

std::string exponent(double v) { return fmt::format("{:.1e}", v); }

void print_ways(const std::vector<Way>& ways, const char* title) {
  Table table({{title},
               {"value", Column::Kind::right},
               {"gradient", Column::Kind::right},
               {"passes", Column::Kind::right}});
  for (const Way& w : ways) {
    std::string gradient;
    for (const double d : w.gradient) gradient += fmt::format("{}{:.6f}", gradient.empty() ? "" : "  ", d);
    table.add({w.name, fmt::format("{:.6f}", w.value), gradient, std::to_string(w.passes)});
  }
  fmt::print("{}\n", table.text());
}

std::vector<DifferenceError> error_curve(const std::vector<double>& x) {
  std::vector<double> steps;
  for (int k = 2; k <= 30; ++k) steps.push_back(std::pow(10.0, -k / 2.0));
  // The derivatives in x2 are known: those of cos and sin.
  const Exact exact = {Worked{}(x), x[0] - std::cos(x[1]), std::sin(x[1]), std::cos(x[1])};
  return difference_errors(Worked{}, x, 1, exact, steps);
}

void print_errors(const std::vector<DifferenceError>& list) {
  Table table({{"step h"},
               {"one-sided", Column::Kind::right},
               {"its truncation", Column::Kind::right},
               {"central", Column::Kind::right},
               {"its truncation", Column::Kind::right},
               {"rounding", Column::Kind::right}});
  for (size_t i = 0; i < list.size(); i += 2) {
    const DifferenceError& e = list[i];
    table.add({exponent(e.h), exponent(e.one_sided), exponent(e.truncation_one_sided), exponent(e.central),
               exponent(e.truncation), exponent(e.rounding)});
  }
  fmt::print("error of a difference quotient in x2, and its two floors\n{}\n", table.text());
}

void write_page(const std::string& file, const std::vector<DifferenceError>& list) {
  Curve one{"one-sided", {}}, central{"central", {}}, cut_one{"|f''| h/2", {}}, cut{"|f'''| h^2/6", {}},
      rounding{"u|f|/h", {}};
  for (const DifferenceError& e : list) {
    // A logarithmic axis has no zero, so quotients without any error are left out.
    if (e.one_sided > 0) one.points.emplace_back(e.h, e.one_sided);
    if (e.central > 0) central.points.emplace_back(e.h, e.central);
    cut_one.points.emplace_back(e.h, e.truncation_one_sided);
    cut.points.emplace_back(e.h, e.truncation);
    rounding.points.emplace_back(e.h, e.rounding);
  }
  Page page("klab autodiff");
  page.text(
      "Error of one-sided and central differences of f = ln x1 + x1 x2 - sin x2 in x2, against the step "
      "size.");
  page.curves({one, central, cut_one, cut, rounding}, "step h", "absolute error", true, true,
              "Right of the best step Taylor's remainder, left of it the rounding of f.");
  write_file(file, page.html());
}

void print_counts() {
  Table table({{"factors n", Column::Kind::right},
               {"on paper", Column::Kind::right},
               {"n(n-2)", Column::Kind::right},
               {"reverse mode", Column::Kind::right}});
  for (const int n : {3, 4, 8, 16, 32}) {
    const ProductCost cost = product_cost(n);
    table.add({std::to_string(n), std::to_string(cost.written), std::to_string(n * (n - 2)),
               std::to_string(cost.reverse)});
  }
  fmt::print("multiplications behind all n derivatives of x1 x2 ... xn\n{}\n", table.text());
}

void print_dead_code(const std::vector<double>& x) {
  Graph graph;
  const std::vector<Expr> inputs = {graph.input(), graph.input()};
  const Expr y = Worked{}(inputs);
  const std::vector<Expr> d = graph.gradient(y, inputs);
  fmt::print("the graph of value and gradient has {} operations; df/dx1 alone needs {}, df/dx2 alone {}\n",
             graph.operations({y, d[0], d[1]}), graph.operations({d[0]}), graph.operations({d[1]}));
  const auto second = hessian(x);
  fmt::print("second derivatives, a graph's gradient's gradient: {:.6f} {:.6f} / {:.6f} {:.6f}\n\n",
             second[0][0], second[0][1], second[1][0], second[1][1]);
}

/// Prints the gradient in a dictionary of tensors, a tuple within it, and a tensor that is taken out twice.
void print_structures() {
  using S = Structure<Tape::Value>;
  Tape tape;
  const S parameters(
      S::Dictionary{{"layers", S(S::Tuple{S(tape.input({2, 2}, {1, 2, 3, 4})),
                                          S(S::Dictionary{{"scale", S(tape.input({2, 1}, {5, 6}))}})})},
                    {"unused", S(tape.input({3}, {7, 8, 9}))}});
  const Tape::Value w = parameters["layers"][0].tensor(), s = parameters["layers"][1]["scale"].tensor();
  tape.backward(tape.add(tape.sum(tape.matmul(w, s)), tape.sum(s)));
  const auto numbers = [](const std::vector<double>& list) {
    std::string text;
    for (const double v : list) text += fmt::format("{}{:g}", text.empty() ? "" : "  ", v);
    return text;
  };
  const Structure<TensorNumbers> gradient = gradient_of(tape, parameters);
  std::vector<std::string> adjoints;
  gradient.each([&](const std::string&, const TensorNumbers& g) { adjoints.push_back(numbers(g)); });
  Table table({{"tensor"}, {"value", Column::Kind::right}, {"gradient", Column::Kind::right}});
  size_t next = 0;
  parameters.each([&](const std::string& path, Tape::Value v) {
    table.add({path, numbers(tape.data(v)), adjoints[next++]});
  });
  fmt::print(
      "a dictionary of tensors has a gradient of its own form: f = sum(W s) + sum(s), W = layers[0], s = "
      "layers[1].scale\n{}\n",
      table.text());
}

/// Returns the point that --at names: numbers in the order of the inputs, or name=number.
std::vector<double> point_of(const std::vector<std::string>& texts, const std::vector<std::string>& names) {
  std::vector<std::optional<double>> at(names.size());
  const auto inputs = fmt::format("the inputs are {}", fmt::join(names, ", "));
  for (size_t i = 0; i < texts.size(); ++i) {
    const size_t equals = texts[i].find('=');
    size_t input = i;
    if (equals != std::string::npos) {
      input = size_t(std::ranges::find(names, texts[i].substr(0, equals)) - names.begin());
      if (input == names.size())
        throw std::invalid_argument(
            fmt::format("--at: '{}' is no input of the expression; {}", texts[i].substr(0, equals), inputs));
    }
    if (input >= names.size())
      throw std::invalid_argument(fmt::format("--at has {} numbers, and {}", texts.size(), inputs));
    const std::string number = texts[i].substr(equals == std::string::npos ? 0 : equals + 1);
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !std::isfinite(value))
      throw std::invalid_argument(fmt::format("--at: '{}' is not a number", number));
    if (at[input]) throw std::invalid_argument(fmt::format("--at names {} twice", names[input]));
    at[input] = value;
  }
  std::vector<double> point;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!at[i])
      throw std::invalid_argument(
          fmt::format("--at has no number for {}, as in --at {}=2; {}", names[i], names[i], inputs));
    point.push_back(*at[i]);
  }
  return point;
}

std::string six(double v) { return fmt::format("{:.6g}", v); }

/// A table for the terminal and the page.
struct TextTable {
  std::string title;
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
  size_t left = 1;  // columns that are aligned to the left
};

TextTable forward_table(const FormulaTrace& trace, const std::vector<std::string>& names) {
  TextTable t{"forward trace, with the tangents of forward mode: one pass per input", {"node", "value"}, {}};
  for (const std::string& name : names) t.heads.push_back("d/d" + name);
  for (const TraceRow& row : trace.rows) {
    t.rows.push_back({row.name + " = " + row.formula, six(row.value)});
    for (const double d : row.tangents) t.rows.back().push_back(six(d));
  }
  return t;
}

TextTable reverse_table(const FormulaTrace& trace, const ReversePass& pass) {
  TextTable t{fmt::format("reverse pass{}, from the result back",
                          trace.results.size() == 1 ? "" : " of " + pass.name),
              {"node", "partial adjoints", "adjoint"},
              {},
              2};
  const size_t inputs = trace.rows.front().tangents.size();
  for (size_t i = pass.row + 1; i-- > 0;) {
    const TraceRow& row = trace.rows[i];
    std::string partial;
    for (const Contribution& c : pass.partial[i])
      partial += fmt::format("{}{}: {} · {} = {}", partial.empty() ? "" : "  +  ", trace.rows[c.from].name,
                             six(c.adjoint), six(c.slope), six(c.amount()));
    if (i == pass.row)
      partial = "the result: 1";
    else if (partial.empty() && i >= inputs)
      continue;  // another result's
    else if (partial.empty())
      partial = "the result does not depend on it";
    t.rows.push_back({row.name, partial, six(pass.adjoints[i])});
  }
  return t;
}

/// One row a result: what a pass of reverse mode computes; a column is what one of forward mode does.
TextTable jacobian_table(const FormulaTrace& trace, const std::vector<std::string>& names) {
  const size_t results = trace.results.size(), inputs = names.size();
  TextTable t{fmt::format("Jacobian: forward mode gives a column a pass ({}), reverse mode a row ({})",
                          inputs, results),
              {"result", "value"},
              {}};
  for (const std::string& name : names) t.heads.push_back("d/d" + name);
  for (const ReversePass& r : trace.results) {
    t.rows.push_back({r.name + " = " + trace.rows[r.row].name, six(trace.rows[r.row].value)});
    for (size_t i = 0; i < inputs; ++i) t.rows.back().push_back(six(r.adjoints[i]));
  }
  return t;
}

/// Returns name, formula and value of the first derivatives, or of the second.
std::vector<std::vector<std::string>> derivatives_of(const FormulaTrace& trace,
                                                     const std::vector<std::string>& names, int order) {
  std::vector<std::vector<std::string>> rows;
  for (const ReversePass& r : trace.results)
    for (size_t i = 0; i < names.size(); ++i) {
      if (order == 1) rows.push_back({"d" + r.name + "/d" + names[i], r.symbolic[i], six(r.adjoints[i])});
      for (size_t j = 0; order == 2 && j < names.size(); ++j)
        rows.push_back({fmt::format("d2{}/d{}d{}", r.name, names[i], names[j]), r.hessian_text[i][j],
                        six(r.hessian[i][j])});
    }
  return rows;
}

void print_table(const TextTable& t) {
  std::vector<Column> columns;
  for (size_t i = 0; i < t.heads.size(); ++i)
    columns.push_back({t.heads[i], i < t.left ? Column::Kind::left : Column::Kind::right});
  Table table(columns);
  table.indent(2);
  for (const auto& row : t.rows) table.add({row.begin(), row.end()});
  fmt::print("{}\n{}\n", t.title, table.text());
}

int run_trace(const Options& o) {
  if (o.expression && o.expression->find_first_not_of(' ') == std::string::npos)
    throw std::invalid_argument("the expression is empty: write one, as \"ln x1 + x1*x2\", or leave it out");
  const std::string text = o.expression.value_or(kWorked);
  if (!o.svg.empty()) require_writable_file(o.svg);
  if (!o.html.empty()) require_writable_file(o.html);
  Formula formula = FormulaReader::read(text);
  const std::vector<std::string>& names = formula.names;
  const std::vector<double> point =
      !o.expression && o.at.empty() ? std::vector<double>{2, 5} : point_of(o.at, names);
  const FormulaTrace trace = FormulaTracer::trace(formula, point);
  std::string where;
  for (size_t i = 0; i < point.size(); ++i)
    where += fmt::format("{}{} = {}", i == 0 ? "" : ", ", names[i], six(point[i]));
  const bool named = text.find('=') != std::string::npos;
  const std::string title = fmt::format("{}{} at {}", named ? "" : "f = ", text, where);
  const TextTable forward = forward_table(trace, names), jacobian = jacobian_table(trace, names);
  std::vector<TextTable> back;
  for (const ReversePass& r : trace.results) back.push_back(reverse_table(trace, r));
  const auto first = derivatives_of(trace, names, 1), second = derivatives_of(trace, names, 2);

  fmt::print("{}\n\n", title);
  print_table(forward);
  fmt::print(
      "what each use of a node contributes to its adjoint is adjoint · slope; a node that is used twice (a "
      "fork) adds two\n");
  for (const TextTable& t : back) print_table(t);
  if (trace.results.size() > 1) print_table(jacobian);
  fmt::print("derivatives as formulas\n");
  for (const auto& d : first) fmt::print("  {} = {} = {}\n", d[0], d[1], d[2]);
  fmt::print("\nextended graph: the nodes that compute the gradient, dead ones left out\n");
  for (const std::string& line : trace.extended) fmt::print("  {}\n", line);
  fmt::print("\nsecond derivatives, the gradient of that graph\n");
  for (const auto& d : second) fmt::print("  {} = {} = {}\n", d[0], d[1], d[2]);

  if (!o.svg.empty()) {
    write_file(o.svg, svg_of(trace));
    fmt::print("\nwritten   {}\n", o.svg);
  }
  if (o.html.empty()) return exit_ok;
  Page page("klab autodiff");
  page.text(title);
  page.drawing(svg_of(trace), "Values in blue, adjoints in red" +
                                  std::string(trace.results.size() > 1 ? ", one a result" : "") +
                                  "; on each edge the slope by which adjoints flow back.");
  const auto add = [&page](const TextTable& t) {
    page.heading(char(std::toupper(t.title.front())) + t.title.substr(1));
    page.table(t.heads, t.rows);
  };
  add(forward);
  for (const TextTable& t : back) add(t);
  if (trace.results.size() > 1) add(jacobian);
  page.heading("Derivatives");
  std::vector<std::vector<std::string>> formulas = first;
  formulas.insert(formulas.end(), second.begin(), second.end());
  page.table({"derivative", "formula", "value"}, formulas);
  page.heading("Extended graph");
  for (const std::string& line : trace.extended) page.text(line);
  write_file(o.html, page.html());
  fmt::print("written   {}\n", o.html);
  return exit_ok;
}

int run(const Options& o) {
  if (o.trace || o.expression || !o.svg.empty()) return run_trace(o);
  const std::vector<double> at = o.at.empty() ? std::vector<double>{2, 5} : point_of(o.at, {"x1", "x2"});
  if (!(at[0] > 0))
    throw std::invalid_argument("--at: x1 has to be above zero, as in --at 2,5: f has a logarithm");
  fmt::print("f = ln x1 + x1 x2 - sin x2 at ({}, {})\n\n", at[0], at[1]);
  print_ways(four_ways(at), "way");
  const std::vector<DifferenceError> errors = error_curve(at);
  print_errors(errors);
  print_counts();
  print_dead_code(at);
  print_structures();
  print_ways(three_designs({0.5, -1}, {0.3, 0.8, -0.6, 0.1, 1.1, -0.7}), "design, y = w2 tanh(W1 x)");
  fmt::print(
      "node by node: klab autodiff --trace, or of your own: klab autodiff \"x1*exp(-x2)\" --at x1=2,x2=1\n");
  if (o.html.empty()) return exit_ok;
  write_page(o.html, errors);
  fmt::print("written   {}\n", o.html);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "autodiff",
     .summary = "Four ways to one gradient, and what each costs",
     .details =
         "Numerical, forward mode, reverse mode on a tape, and a graph whose gradient is a "
         "graph, on an example\n"
         "that can be checked by hand. The code is labs/learning/gradients, a few pages.\n"
         "With an expression, or --trace: every value, tangent and adjoint, the derivatives as formulas,\n"
         "the extended graph and the second derivatives. Functions: ln exp sin cos tan tanh sqrt sigmoid.\n"
         "Several results, as \"x*y, sin x\" or \"u = x*y, v = sin u\", have a Jacobian.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("expression", o->expression,
                      "a formula to trace, as \"ln x1 + x1*x2 - sin x2\", or several");
       app.add_option("--at", o->at, "the point, by name or in order: x1=2,x2=5 or 2,5 (the default)")
           ->delimiter(',');
       app.add_flag("--trace", o->trace, "trace the example node by node");
       app.add_option("--html", o->html, "write the error curve, or the trace with its graph, as a page");
       app.add_option("--svg", o->svg, "write the graph of the trace as a picture");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::autodiff_command
