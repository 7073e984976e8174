// klab autodiff: four ways to compute one gradient, on an example that can be checked by hand.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>

#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/records/atomic_file.h"
#include "harness/report/page.h"
#include "harness/report/table.h"
#include "labs/learning/gradients/worked.h"

namespace klab::autodiff_command {
namespace {

using namespace gradients;

struct Options {
  std::vector<double> at = {2, 5};
  std::string html;
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

int run(const Options& o) {
  if (o.at.size() != 2 || !(o.at[0] > 0) || !std::isfinite(o.at[0]) || !std::isfinite(o.at[1]))
    throw std::invalid_argument(
        "--at takes two numbers, the first above zero, as in --at 2,5: f has a logarithm");
  fmt::print("f = ln x1 + x1 x2 - sin x2 at ({}, {})\n\n", o.at[0], o.at[1]);
  print_ways(four_ways(o.at), "way");
  const std::vector<DifferenceError> errors = error_curve(o.at);
  print_errors(errors);
  print_counts();
  print_dead_code(o.at);
  print_ways(three_designs({0.5, -1}, {0.3, 0.8, -0.6, 0.1, 1.1, -0.7}), "design, y = w2 tanh(W1 x)");
  if (o.html.empty()) return exit_ok;
  write_page(o.html, errors);
  fmt::print("written   {}\n", o.html);
  return exit_ok;
}

KLAB_COMMAND({.name = "autodiff",
              .summary = "Four ways to one gradient, and what each costs",
              .details = "Numerical, forward mode, reverse mode on a tape, and a graph whose gradient is a "
                         "graph, on an example\n"
                         "that can be checked by hand. The code is labs/learning/gradients, a few pages.",
              .setup = [](CLI::App& app) -> std::function<int()> {
                auto o = std::make_shared<Options>();
                app.add_option("--at", o->at, "the point, default 2,5")
                    ->delimiter(',')
                    ->check(number_within<double>(range::coordinate));
                app.add_option("--html", o->html, "write the error curve as a page");
                return [o] { return run(*o); };
              }});

}  // namespace
}  // namespace klab::autodiff_command
