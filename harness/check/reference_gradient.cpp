// Point 1 of the gradient check: the double backward against central differences of the double forward.
//
// Along a direction d from x the loss is L(h) = sum of upstream·y(x + h·d). D(h) = (L(h) - L(-h)) / 2h errs
// by h²·L'''/6 and by roundings over h; (4·D(h) - D(2h)) / 3 takes the first away but for h⁴. The two differ
// by the error taken away, which therefore bounds, generously, the error that is left. Where they differ by
// more than a ten-thousandth of what changed, the function has a kink or too much curvature within the step,
// and a smaller step is tried; where the slopes to either side differ at the smallest one, the direction is
// refused.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/check/cases.h"
#include "harness/check/gradcheck.h"
#include "harness/check/gradcheck_parts.h"
#include "harness/check/gradient_pair.h"
#include "harness/core/element.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr double kU = 0x1p-53;
constexpr double kSteps[] = {0x1p-17, 0x1p-21,
                             0x1p-25};     // near epsilon^(1/3), of the inputs' scale; then 1/16 each
constexpr int64_t kElementwiseUpTo = 300;  // inputs of the forward, one by one; larger ones by directions
constexpr int kReferenceDirections = 4;

// A direction in one input tensor, as the elements that move.
struct Direction {
  size_t tensor = 0;
  std::vector<int64_t> at;
  std::vector<double> by;
};

// L along a direction, in differences.
struct Difference {
  double slope = 0;            // (L(x+hd) - L(x-hd)) / 2h
  double left = 0, right = 0;  // one-sided slopes
  double noise = 0;            // what roundings may do to the slope
  double change = 0;           // the same difference with all signs made equal: the scale of what cancels
};

class Probe {
 public:
  Probe(const GradientPair& pair, const GradientPoint& point)
      : pair_(pair),
        point_(point),
        forward_(*pair.forward, pair.forward_shape, pair.forward_specs),
        backward_(*pair.backward, pair.backward_shape, pair.backward_specs) {
    forward_.take(point.forward);
    forward_.run();
    backward_.take(point.backward);
    for (const auto& link : pair.saved) {  // unrounded: the point holds them in float
      const Buffer& from = forward_.values[link.forward];
      if (from.bytes() > 0)
        std::memcpy(backward_.values[link.backward].data(), from.data(), size_t(from.bytes()));
    }
    backward_.run();
    middle_ = outputs();
    const double terms = pair.forward->op.terms(pair.forward_shape);
    growth_ = sqrt_growth(terms + 1, kU) * kU;
    backward_growth_ = sqrt_growth(pair.backward->op.terms(pair.backward_shape) + 1, kU) * kU;
  }

  /// The analytic slope along d, and what roundings may do to it.
  double analytic(const Direction& d, size_t gradient, double* noise) const {
    double sum = 0;
    *noise = 0;
    for (size_t i = 0; i < d.at.size(); ++i) {
      sum += d.by[i] * backward_.values[gradient].as<double>()[d.at[i]];
      *noise += (backward_growth_ + kU * double(d.at.size())) * std::abs(d.by[i]) *
                backward_.magnitudes[gradient].as<double>()[d.at[i]];
    }
    return sum;
  }

  Difference difference(const Direction& d, double h) {
    const std::vector<double> plus = moved(d, h), sizes = magnitudes(), minus = moved(d, -h);
    const std::vector<double> sizes_minus = magnitudes();
    Difference result;
    size_t flat = 0;
    for (size_t k = 0; k < pair_.forward_specs.size(); ++k) {
      if (!counts(k)) continue;
      for (int64_t i = 0, n = volume(pair_.forward_specs[k].dims); i < n; ++i, ++flat) {
        if (plus[flat] == minus[flat] && plus[flat] == middle_[flat]) continue;  // does not depend on d
        const double g = point_.weight(k, i);
        result.slope += g * (plus[flat] - minus[flat]) / (2 * h);
        result.right += g * (plus[flat] - middle_[flat]) / h;
        result.left += g * (middle_[flat] - minus[flat]) / h;
        result.change += std::abs(g * (plus[flat] - minus[flat])) / (2 * h);
        result.noise += std::abs(g) * growth_ * (sizes[flat] + sizes_minus[flat]) / (2 * h);
      }
    }
    result.noise += kU * double(flat) * result.change;
    return result;
  }

  /// What may have been lost of the slope in outputs that do depend on d, which a large step shows, and come out the same at
  /// x + hd and x - hd: less than their last digit. An x far larger than the root of epsilon normalizes to 1, whatever it is.
  double hidden(const Direction& d, double h) {
    constexpr double kLarge = 0x1p-8;
    if (pair_.forward_specs[d.tensor].draw == Draw::unit) return 0;  // might leave its range
    const std::vector<double> plus = moved(d, h), minus = moved(d, -h), far = moved(d, kLarge);
    double sum = 0;
    size_t flat = 0;
    for (size_t k = 0; k < pair_.forward_specs.size(); ++k) {
      if (!counts(k)) continue;
      for (int64_t i = 0, n = volume(pair_.forward_specs[k].dims); i < n; ++i, ++flat)
        if (plus[flat] == minus[flat] && far[flat] != middle_[flat])
          sum += std::abs(point_.weight(k, i) * middle_[flat]) * 2 * kU / h;
    }
    return sum;
  }

 private:
  bool counts(size_t k) const {
    return pair_.forward_specs[k].role != Role::input && pair_.forward_specs[k].element == Element::f32;
  }

  std::vector<double> collect(const Tensors& from) const {
    std::vector<double> all;
    for (size_t k = 0; k < pair_.forward_specs.size(); ++k) {
      if (!counts(k)) continue;
      const double* begin = from[k].as<double>();
      all.insert(all.end(), begin, begin + volume(pair_.forward_specs[k].dims));
    }
    return all;
  }
  std::vector<double> outputs() const { return collect(forward_.values); }
  std::vector<double> magnitudes() const { return collect(forward_.magnitudes); }

  std::vector<double> moved(const Direction& d, double h) {
    auto* x = forward_.values[d.tensor].as<double>();
    std::vector<double> before(d.at.size());
    for (size_t i = 0; i < d.at.size(); ++i) {
      before[i] = x[d.at[i]];
      x[d.at[i]] += h * d.by[i];
    }
    forward_.run();
    for (size_t i = d.at.size(); i-- > 0;) x[d.at[i]] = before[i];
    return outputs();
  }

  const GradientPair& pair_;
  const GradientPoint& point_;
  DoubleRun forward_, backward_;
  std::vector<double> middle_;
  double growth_ = 0, backward_growth_ = 0;
};

enum class Slope { agrees, differs, kink };

struct GradientVerdict {
  Slope slope = Slope::kink;
  double numeric = 0, analytic = 0, bound = 0;
};

GradientVerdict compare_slopes(Probe& probe, const Direction& d, size_t gradient) {
  GradientVerdict verdict;
  double own_noise = 0;
  verdict.analytic = probe.analytic(d, gradient, &own_noise);
  bool judged = false;
  Difference last;
  double step = 0;
  for (const double h : kSteps) {
    const Difference near = probe.difference(d, h), far = probe.difference(d, 2 * h);
    last = near;
    const double taken = std::abs(far.slope - near.slope) / 3;
    const double noise = (4 * near.noise + far.noise) / 3 + own_noise + 0x1p-1000;
    if (!(taken <= 1e-4 * near.change + noise)) continue;
    judged = true;
    step = h;
    verdict.numeric = (4 * near.slope - far.slope) / 3;
    verdict.bound = std::min(taken, 1e-4 * near.change) + noise;
    if (std::abs(verdict.numeric - verdict.analytic) <= verdict.bound) {
      verdict.slope = Slope::agrees;
      return verdict;
    }
  }
  if (!judged && std::isfinite(last.slope)) return verdict;
  if (judged && std::abs(verdict.numeric - verdict.analytic) <= verdict.bound + probe.hidden(d, step)) {
    verdict.slope = Slope::agrees;
    return verdict;
  }
  const double corner = std::abs(last.right - last.left);
  verdict.slope = corner > 1e-2 * last.change + 4 * last.noise ? Slope::kink : Slope::differs;
  return verdict;
}

// A number with 12 significant bits, so that x + h·by is exact in double for every x and step in question.
double short_number(double by) {
  int exponent = 0;
  const double mantissa = std::frexp(by, &exponent);
  return std::ldexp(std::nearbyint(mantissa * 0x1p12), exponent - 12);
}

// How far the elements of a tensor may move per unit of step: their root mean square, or 1.
double scale_of(const Tensors& tensors, size_t k, const TensorSpec& spec) {
  const int64_t n = volume(spec.dims);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::pow(tensors[k].as<float>()[i], 2);
  return short_number(sum > 0 ? std::sqrt(sum / double(n)) : 1);
}

// Moves that stay inside [0, 1) where that is the tensor's range.
bool may_move(const GradientPair& pair, const GradientPoint& point, size_t tensor, int64_t i, double by) {
  if (pair.forward_specs[tensor].draw != Draw::unit) return true;
  const double x = point.forward[tensor].as<float>()[i], reach = 2 * kSteps[0] * std::abs(by);
  return x - reach >= 0 && x + reach < 1;
}

std::vector<Direction> directions(const GradientPair& pair, const GradientPoint& point, size_t tensor,
                                  Generator& random) {
  const TensorSpec& spec = pair.forward_specs[tensor];
  const int64_t n = volume(spec.dims);
  const double scale = scale_of(point.forward, tensor, spec);
  std::vector<Direction> list;
  if (n <= kElementwiseUpTo) {
    for (int64_t i = 0; i < n; ++i)
      if (may_move(pair, point, tensor, i, scale)) list.push_back({tensor, {i}, {scale}});
    return list;
  }
  // Half of them move everything, half a few elements: the more move, the sooner one meets a kink.
  for (int k = 0; k < kReferenceDirections; ++k) {
    Direction d{tensor, {}, {}};
    for (int64_t i = 0; i < n; ++i) {
      if (k % 2 && random() % uint64_t(n) >= 16) continue;
      const double by = short_number(scale * std::normal_distribution<double>()(random));
      if (!may_move(pair, point, tensor, i, by)) continue;
      d.at.push_back(i);
      d.by.push_back(by);
    }
    if (!d.at.empty()) list.push_back(std::move(d));
  }
  return list;
}

// Counts of one gradient over all shapes.
struct Count {
  int tried = 0, kinks = 0;
};

void check_point(const GradientPair& pair, const CheckOptions& options, Generator& random,
                 std::vector<Count>& counts, CheckResult& result) {
  const GradientPoint point(pair, random);
  Probe probe(pair, point);
  counts.resize(pair.gradients.size());
  for (size_t g = 0; g < pair.gradients.size(); ++g) {
    const auto& link = pair.gradients[g];
    for (const Direction& d : directions(pair, point, link.forward, random)) {
      if (int(result.failures.size()) >= options.max_failures) return;
      const GradientVerdict verdict = compare_slopes(probe, d, link.backward);
      ++result.cases;
      ++counts[g].tried;
      if (verdict.slope == Slope::kink) ++counts[g].kinks;
      if (verdict.slope == Slope::agrees && verdict.bound > 0)
        result.worst = std::max(result.worst, std::abs(verdict.numeric - verdict.analytic) / verdict.bound);
      if (verdict.slope != Slope::differs) continue;
      const TensorSpec& spec = pair.backward_specs[link.backward];
      result.failures.push_back(
          {.fault = Fault::reference_gradient,
           .tensor = spec.name,
           .index = d.at.size() == 1 ? index_text(d.at[0], spec.dims) : "",
           .expected = digits(verdict.numeric),
           .got = digits(verdict.analytic),
           .bound = digits(verdict.bound),
           .inputs =
               shape_text(pair.backward->op, pair.backward_shape) + ", random inputs and upstream gradient",
           .note = d.at.size() == 1
                       ? "expected: central difference of the double forward, times the input's scale"
                       : "expected: difference of the double forward along a random direction"});
    }
  }
}

}  // namespace

CheckResult check_reference_gradient(const LabOp& backward, const std::vector<std::vector<int64_t>>& shapes,
                                     const CheckOptions& options, CrashGuard& guard) {
  CheckResult result{.variant = backward.op.name + ".reference"};
  Generator random(options.seed);
  std::vector<Count> counts;
  std::vector<std::string> names;
  for (const auto& shape : shapes) {
    if (options.stop && options.stop()) break;
    guard.doing("differentiating the reference of " + backward.op.forward + " at " +
                shape_text(backward.op, shape));
    const GradientPair pair(backward, shape);
    names.clear();
    for (const auto& link : pair.gradients) names.push_back(pair.backward_specs[link.backward].name);
    check_point(pair, options, random, counts, result);
  }
  int kinks = 0;
  for (size_t g = 0; g < counts.size(); ++g) {
    kinks += counts[g].kinks;
    // A few may meet one by chance; a tenth means that nothing keeps inputs away from them.
    if (10 * counts[g].kinks <= counts[g].tried) continue;
    result.failures.push_back(
        {.fault = Fault::reference_gradient,
         .tensor = names[g],
         .got = std::to_string(counts[g].kinks) + " of " + std::to_string(counts[g].tried),
         .bound = "one in ten",
         .note = "directions with a kink: the contract's arrange() must keep inputs away"});
  }
  if (kinks > 0) result.note = std::to_string(kinks) + " directions refused at kinks";
  return result;
}

}  // namespace klab
