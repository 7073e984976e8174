// Ways to compute derivatives: claims about their results, errors and costs (klab autodiff shows them one by
// one).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/gradients/worked.h"

namespace klab::learning::derivatives_experiment {
namespace {

const Claim kWorked{.id = "derivatives.worked",
                    .said = "f = ln x1 + x1·x2 − sin x2 at (2, 5) is 11.652, its gradient 5.5 and 1.716",
                    .source = "course",
                    .metric = "largest distance of four ways from these numbers",
                    .rule = at_most(5e-4),
                    .kind = ClaimKind::exact};
const Claim kPowers{.id = "derivatives.powers",
                    .said = "a central difference errs as ε², a one-sided one as ε",
                    .source = "course",
                    .metric = "largest distance of the two powers from 2 and 1",
                    .rule = at_most(0.1),
                    .kind = ClaimKind::exact,
                    .on = "the range of ε"};
const Claim kFormulas{
    .id = "derivatives.product",
    .said = "derivatives of a product by formulas cost n(n−2) multiplications, reverse mode O(n)",
    .source = "course",
    .metric = "of 4 sizes n, those where formulas take n(n−2) and reverse mode 3n at most",
    .rule = between(4, 4),
    .kind = ClaimKind::exact};
const Claim kPasses{.id = "derivatives.passes",
                    .said = "forward mode needs n passes for a gradient, reverse mode one",
                    .source = "course",
                    .metric = "passes of forward mode for equal derivatives, over n",
                    .rule = between(1, 1),
                    .kind = ClaimKind::exact};
const Claim kTime{.id = "derivatives.time",
                  .said = "so the time of forward mode over that of reverse mode grows with n",
                  .source = "course",
                  .metric = "ratio of these quotients, 512 inputs over 128",
                  .rule = at_least(2),
                  .kind = ClaimKind::timed};

using gradients::Dual;
using gradients::Tape;

Decided worked() {
  double value = 0, first = 0, second = 0;
  std::string names;
  for (const gradients::Way& w : gradients::four_ways({2, 5})) {
    value = std::max(value, std::abs(w.value - 11.652));
    first = std::max(first, std::abs(w.gradient[0] - 5.5));
    second = std::max(second, std::abs(w.gradient[1] - 1.716));
  }
  return decide(kWorked, std::max({value, first, second}),
                fmt::format("four ways are at most {:.0e}, {:.0e} and {:.0e} from that: the digits left out",
                            value, first, second));
}

/// Plots errors over the step size with their theoretical floors, and finds the powers at which they fall.
Decided differences(Outcome& out) {
  const std::vector<double> x = {2, 5};
  std::vector<double> steps;
  for (int k = 2; k <= 26; ++k) steps.push_back(std::pow(10.0, -k / 2.0));
  const gradients::Exact exact = {gradients::Worked{}(x), x[0] - std::cos(x[1]), std::sin(x[1]),
                                  std::cos(x[1])};
  Curve one{"one-sided", {}}, central{"central", {}}, cut_one{"|f''| ε/2", {}}, cut{"|f'''| ε²/6", {}},
      rounding{"u|f|/ε", {}};
  for (const auto& e : gradients::difference_errors(gradients::Worked{}, x, 1, exact, steps)) {
    if (e.one_sided > 0) one.points.emplace_back(e.h, e.one_sided);
    if (e.central > 0) central.points.emplace_back(e.h, e.central);
    cut_one.points.emplace_back(e.h, e.truncation_one_sided);
    cut.points.emplace_back(e.h, e.truncation);
    rounding.points.emplace_back(e.h, e.rounding);
  }
  out.curves = {one, central, cut_one, cut, rounding};
  // The powers at which errors fall from one step to a tenth of it.
  const auto powers = [&](double h) {
    const auto e =
        gradients::difference_errors(gradients::Worked{}, x, 1, exact, std::vector<double>{h, h / 10});
    const auto power = [](double coarse, double fine) {
      return std::log10(std::max(coarse, 1e-18) / std::max(fine, 1e-18));
    };
    return std::pair(power(e[0].one_sided, e[1].one_sided), power(e[0].central, e[1].central));
  };
  const auto off = [](const std::pair<double, double>& p) {
    return std::max(std::abs(p.first - 1), std::abs(p.second - 2));
  };
  const auto coarse = powers(1e-2), fine = powers(1e-11);
  const double last_one = one.points.back().second, last_central = central.points.back().second;
  return decide(
      kPowers, {{"from 1e-2 to 1e-3", {off(coarse)}}, {"from 1e-11 to 1e-12", {off(fine)}}},
      fmt::format("from ε = 1e-2 to 1e-3 errors fall by powers of {:.2f} and {:.2f}, until rounding, which "
                  "grows as 1/ε, is larger: at 1e-13 they are {:.0e} and {:.0e}",
                  coarse.second, coarse.first, last_central, last_one));
}

/// Returns the sum of ln x_i + x_i·x_{i+1} − sin x_i around a circle, for any number type.
template <class T>
T circle(const std::vector<T>& x) {
  using std::log;
  using std::sin;
  T sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum = sum + log(x[i]) + x[i] * x[(i + 1) % x.size()] - sin(x[i]);
  return sum;
}

std::vector<double> by_tape(const std::vector<double>& x) {
  const auto n = int64_t(x.size());
  Tape t;
  const Tape::Value v = t.input({n}, x);
  std::vector<int64_t> next;
  for (int64_t i = 0; i < n; ++i) next.push_back((i + 1) % n);
  const Tape::Value product = t.multiply(v, t.gather(v, {n}, next));
  t.backward(t.sum(t.subtract(t.add(t.log(v), product), t.sin(v))));
  return t.gradient(v);
}

/// Returns the shortest of a few timings.
double seconds_of(const std::function<std::vector<double>()>& work, std::vector<double>& result) {
  double shortest = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    result = work();
    shortest =
        std::min(shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return shortest;
}

Outcome run(uint64_t) {
  Outcome out{.heads = {"inputs n", "product on paper", "n(n−2)", "in reverse", "forward passes",
                        "forward mode", "reverse mode", "forward over reverse"},
              .x = "step ε",
              .y = "absolute error",
              .log_x = true,
              .log_y = true};
  out.decided = {worked(), differences(out)};
  double ratio[2] = {}, apart = 0;
  int64_t written = 0, reverse = 0, passes = 0;
  int sizes = 0;  // at which both formulas hold
  for (const int n : {8, 32, 128, 512}) {
    const gradients::ProductCost cost = gradients::product_cost(n);
    std::vector<double> x, forward, tape;
    for (int i = 0; i < n; ++i) x.push_back(1 + double(i) / n);
    int count = 0;
    const double slow = seconds_of(
        [&] {
          count = 0;
          return gradients::forward_gradient([](const std::vector<Dual>& v) { return circle(v); }, x, &count);
        },
        forward);
    const double fast = seconds_of([&] { return by_tape(x); }, tape);
    for (size_t i = 0; i < x.size(); ++i) apart = std::max(apart, std::abs(forward[i] - tape[i]));
    sizes += cost.written == int64_t(n) * (n - 2) && cost.reverse <= 3 * n ? 1 : 0;
    written = cost.written, reverse = cost.reverse, passes = count;
    ratio[0] = ratio[1], ratio[1] = slow / fast;
    out.rows.push_back({std::to_string(n), std::to_string(cost.written), std::to_string(int64_t(n) * (n - 2)),
                        std::to_string(cost.reverse), std::to_string(count),
                        fmt::format("{:.1f} us", 1e6 * slow), fmt::format("{:.1f} us", 1e6 * fast),
                        fmt::format("{:.2f}", ratio[1])});
  }
  out.decided.push_back(decide(kFormulas, sizes, fmt::format("{} and {} for 512 factors", written, reverse)));
  // Unequal derivatives count as no pass.
  out.decided.push_back(
      decide(kPasses, apart < 1e-12 ? double(passes) / 512 : 0,
             fmt::format("{} passes and one for the same 512 derivatives, apart by {:.0e}", passes, apart)));
  out.decided.push_back(
      decide(kTime, ratio[1] / ratio[0],
             fmt::format("from 128 to 512 inputs forward mode's time over reverse mode's goes from {:.1f} "
                         "to {:.1f}",
                         ratio[0], ratio[1])));
  return out;
}

const ExperimentRegistrar registrar({"derivatives",
                                     "Ways to a gradient: their results, their errors, what they cost",
                                     run,
                                     nullptr,
                                     {kWorked, kPowers, kFormulas, kPasses, kTime}});

}  // namespace
}  // namespace klab::learning::derivatives_experiment
