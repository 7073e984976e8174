// Point 3 of the gradient check: a variant's backward against differences of its own forward.
//
// In float a difference is mostly rounding noise and truncation. So the step is large, and the same
// difference is taken of the double forward at the very same points: what truncation, curvature and kinks do
// to one they do to the other. With x+ and x- the two points, v = x+ - x-, and g the upstream gradient,
//
//   own  = <g, y(x+) - y(x-)>  - <dx, v>      of the variant's forward and backward
//   true = the same of the double ones        (0 but for truncation)
//
// and |own - true| is at most what roundings do to y and dx. g is drawn independently of these roundings e,
// so
// |<g, e>| <= 4·|g·e|_2 but for one case in ten thousand, whether or not the e depend on each other; likewise
// for v.
#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/check/compare.h"
#include "harness/check/gradcheck_parts.h"
#include "harness/check/gradient_pair.h"
#include "harness/core/element.h"
#include "harness/core/fill.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr int kDirections = 2;
constexpr double kStep = 0.125;  // of the inputs' root mean square
constexpr double kLambda = 4;

// Root mean square of a roundoff chain, in absolute terms per unit of magnitude.
double spread_of(const Variant& v, double terms) {
  const Tolerance t = tolerance(v.numerics, std::max(terms, 1.0), false, Element::f32);
  return t.unit * t.root;
}
double underflow_of(const Variant& v, double terms) {
  return tolerance(v.numerics, std::max(terms, 1.0), false, Element::f32).underflow;
}

// One direction: the two points, and what the double reference says of them.
class Line {
 public:
  Line(const GradientPair& pair, const GradientPoint& point, const GradientPair::Link& link,
       const DoubleRun& backward, Generator& random)
      : pair_(pair),
        point_(point),
        link_(link),
        plus_(pair.forward_specs, Tensors::View::variant),
        minus_(pair.forward_specs, Tensors::View::variant) {
    move(random);
    references_[0] = run_reference(plus_);
    references_[1] = run_reference(minus_);
    size_t flat = 0;
    each_output([&](size_t k, int64_t i) {
      const double g = point_.weight(k, i);
      true_ += g * (references_[0].values[flat] - references_[1].values[flat]);
      ++flat;
    });
    const double* slope = backward.values[link.backward].as<double>();
    const double* size = backward.magnitudes[link.backward].as<double>();
    for (int64_t i = 0; i < moved_count(); ++i) {
      const double v = moved(i);
      true_ -= slope[i] * v;
      backward_spread2_ += v * v * size[i] * size[i];
      reach_ += std::abs(v);
    }
  }

  /// nullopt when this variant's forward and backward fit together along the line.
  std::optional<Failure> judge(const Variant& forward, const Tensors& gradients,
                               const Variant& backward) const {
    const std::vector<double> y_plus = run_variant(forward, plus_), y_minus = run_variant(forward, minus_);
    double difference = 0, weights = 0;
    size_t flat = 0;
    each_output([&](size_t k, int64_t i) {
      const double g = point_.weight(k, i);
      difference += g * (y_plus[flat] - y_minus[flat]);
      weights += std::abs(g);
      ++flat;
    });
    double slope = 0;
    const auto* dx = gradients[link_.backward].as<float>();
    for (int64_t i = 0; i < moved_count(); ++i) slope += dx[i] * moved(i);
    const double forward_terms = pair_.forward->op.terms(pair_.forward_shape);
    const double backward_terms = pair_.backward->op.terms(pair_.backward_shape);
    const double bound = kLambda * (spread_of(forward, forward_terms) * std::sqrt(forward_spread2_) +
                                    spread_of(backward, backward_terms) * std::sqrt(backward_spread2_)) +
                         2 * weights * underflow_of(forward, forward_terms) +
                         reach_ * underflow_of(backward, backward_terms);
    if (std::abs(difference - slope - true_) <= bound) return std::nullopt;
    std::string wrong = wrong_forward(forward, y_plus, references_[0]);
    if (wrong.empty()) wrong = wrong_forward(forward, y_minus, references_[1]);
    return Failure{
        .fault = Fault::own_forward,
        .tensor = pair_.backward_specs[link_.backward].name,
        .expected = digits(difference - true_),
        .got = digits(slope),
        .bound = digits(bound),
        .inputs = shape_text(pair_.backward->op, pair_.backward_shape) + ", random inputs and direction",
        .note =
            "expected: difference of " + forward.id + " along the direction, truncation taken out" + wrong};
  }

 private:
  struct Values {
    std::vector<double> values, magnitudes;
  };

  /// Says that it is the forward that is wrong, where it is: "; softmax.cpu.02 itself is wrong: y[3] is 1, not 2".
  std::string wrong_forward(const Variant& forward, const std::vector<double>& got,
                            const Values& want) const {
    const double terms = pair_.forward->op.terms(pair_.forward_shape);
    const Tolerance allowed = tolerance(forward.numerics, terms, true, Element::f32);
    std::string text;
    size_t flat = 0;
    each_output([&](size_t k, int64_t i) {
      const double value = want.values[flat], mine = got[flat];
      const double bound =
          allowed.bound(want.magnitudes[flat], value) + unit_roundoff(Element::f32) * std::abs(value);
      ++flat;
      if (!text.empty() || std::abs(mine - value) <= bound) return;
      const TensorSpec& spec = pair_.forward_specs[k];
      text = "; " + forward.id + " itself is wrong: " + spec.name + index_text(i, spec.dims) + " is " +
             digits(mine) + ", not " + digits(value);
    });
    return text;
  }

  int64_t moved_count() const { return volume(pair_.forward_specs[link_.forward].dims); }
  double moved(int64_t i) const {
    return double(plus_[link_.forward].as<float>()[i]) - double(minus_[link_.forward].as<float>()[i]);
  }

  void move(Generator& random) {
    const TensorSpec& spec = pair_.forward_specs[link_.forward];
    const int64_t n = volume(spec.dims);
    copy_given(pair_.forward_specs, point_.forward, plus_);
    copy_given(pair_.forward_specs, point_.forward, minus_);
    const auto* x = point_.forward[link_.forward].as<float>();
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += double(x[i]) * x[i];
    const double scale = kStep * (sum > 0 ? std::sqrt(sum / double(n)) : 1);
    const bool unit = spec.draw == Draw::unit;
    for (int64_t i = 0; i < n; ++i) {
      const double by = scale * std::normal_distribution<double>()(random);
      for (const bool up : {true, false}) {
        double to = x[i] + (up ? by : -by);
        if (unit) to = std::clamp(to, 0.0, 0x1.fffffep-1);
        (up ? plus_ : minus_)[link_.forward].as<float>()[i] = float(to);
      }
    }
    // Tensors that are made from others (a table in half precision) follow; equal draws keep the rest equal.
    if (!pair_.forward->op.arrange) return;
    const auto seed = random();
    for (Tensors* side : {&plus_, &minus_}) {
      Generator same(seed);
      pair_.forward->op.arrange(pair_.forward_shape, side->pointers(), same);
    }
  }

  void each_output(const auto& visit) const {
    for (size_t k = 0; k < pair_.forward_specs.size(); ++k) {
      const TensorSpec& spec = pair_.forward_specs[k];
      if (spec.role == Role::input || spec.element != Element::f32) continue;
      for (int64_t i = 0, n = volume(spec.dims); i < n; ++i) visit(k, i);
    }
  }

  Values run_reference(const Tensors& at) {
    DoubleRun run(*pair_.forward, pair_.forward_shape, pair_.forward_specs);
    run.take(at);
    run.run();
    Values y;
    each_output([&](size_t k, int64_t i) {
      y.values.push_back(run.values[k].as<double>()[i]);
      y.magnitudes.push_back(run.magnitudes[k].as<double>()[i]);
      forward_spread2_ += std::pow(point_.weight(k, i) * run.magnitudes[k].as<double>()[i], 2);
    });
    return y;
  }

  std::vector<double> run_variant(const Variant& v, const Tensors& at) const {
    Tensors mine(pair_.forward_specs, Tensors::View::variant);
    copy_given(pair_.forward_specs, at, mine);  // accumulated tensors are zero in the point
    poison_outputs(pair_.forward_specs, mine);
    try {
      v.bind(pair_.forward_shape, mine.pointers())();
    } catch (const std::exception& error) {
      throw std::runtime_error("its forward " + v.id + " throws: " + error.what());
    }
    std::vector<double> y;
    each_output([&](size_t k, int64_t i) { y.push_back(mine[k].as<float>()[i]); });
    return y;
  }

  const GradientPair& pair_;
  const GradientPoint& point_;
  GradientPair::Link link_;
  Tensors plus_, minus_;
  Values references_[2];  // of the forward, at plus_ and minus_
  double true_ = 0;
  double forward_spread2_ = 0, backward_spread2_ = 0;  // sums of (weight·magnitude)²
  double reach_ = 0;
};

// The forward a backward belongs to, if it can run; nullptr and why otherwise.
const Variant* own_forward_of(const Variant& backward, const GradientPair& pair, std::string* why) {
  const std::vector<const Variant*> ladder = variants_of(pair.forward->op.name, backward.backend);
  const Variant* found = backward.forward.empty() ? nullptr : find_variant(backward.forward);
  if (!backward.forward.empty() && !found) {
    *why = "its forward " + backward.forward + " is not registered";
    return nullptr;
  }
  if (!found && !ladder.empty()) found = naive_of(*ladder.front());
  if (!found) {
    *why = "no " + backward.backend + " variant of " + pair.forward->op.name;
  } else if (*why = found->supported(pair.forward_shape, host_of(*found)); !why->empty()) {
    return nullptr;
  }
  return found;
}

void check_variant(const GradientPair& pair, const GradientPoint& point, const std::vector<Line>& lines,
                   const Variant& backward, CrashGuard& guard, CheckResult& result) {
  if (!backward.supported(pair.backward_shape, host_of(backward)).empty()) return;
  std::string why;
  const Variant* forward = own_forward_of(backward, pair, &why);
  if (!forward) {
    if (backward.forward.empty())
      result.note = "not checked against its own forward: " + why;
    else
      result.failures.push_back({.fault = Fault::own_forward, .note = why});
    return;
  }
  guard.doing("checking " + backward.id + " against " + forward->id + " at " +
              shape_text(pair.backward->op, pair.backward_shape));
  Tensors gradients(pair.backward_specs, Tensors::View::variant);
  copy_given(pair.backward_specs, point.backward, gradients);
  poison_outputs(pair.backward_specs, gradients);
  try {
    backward.bind(pair.backward_shape, gradients.pointers())();
    for (const Line& line : lines) {
      ++result.cases;
      if (auto failure = line.judge(*forward, gradients, backward)) {
        result.failures.push_back(std::move(*failure));
        return;
      }
    }
  } catch (const std::exception& e) {
    result.failures.push_back({.fault = Fault::threw,
                               .inputs = shape_text(pair.backward->op, pair.backward_shape),
                               .note = e.what()});
  }
}

}  // namespace

void check_own_forward(const LabOp& op, std::span<const Variant* const> variants,
                       const std::vector<std::vector<int64_t>>& shapes, const CheckOptions& options,
                       CrashGuard& guard, std::vector<CheckResult>& results) {
  Generator random(options.seed + 1);
  for (const auto& shape : shapes) {
    if (options.stop && options.stop()) return;
    guard.doing("running the references of " + op.op.name + " at " + shape_text(op.op, shape));
    const GradientPair pair(op, shape);
    const GradientPoint point(pair, random);
    DoubleRun backward(op, shape, pair.backward_specs);
    backward.take(point.backward);
    backward.run();
    std::vector<Line> lines;
    for (const auto& link : pair.gradients)
      for (int k = 0; k < kDirections; ++k) lines.emplace_back(pair, point, link, backward, random);
    for (size_t v = 0; v < variants.size(); ++v)
      if (int(results[v].failures.size()) < options.max_failures)
        check_variant(pair, point, lines, *variants[v], guard, results[v]);
  }
}

}  // namespace klab
