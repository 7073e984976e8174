#include "harness/check/suspect.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/core/element.h"
#include "reference/generator.h"

namespace klab {
namespace {

// With fewer elements, an honest error may by chance have the direction of all their roundings: a biased sum changes the outputs
// just as another epsilon does.
constexpr int64_t kElements = 64;
constexpr Element kShort[] = {Element::bf16, Element::f16};

const char* name_of(Element element) { return element == Element::bf16 ? "bfloat16" : "half-precision"; }

/// The values of a tensor rounded to `element`; false when one leaves its range or none changes.
bool round_to(Element element, double* values, int64_t count) {
  bool changed = false;
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits = 0;
    store(element, &bits, 0, values[i]);
    const double rounded = load(element, &bits, 0);
    if (!std::isfinite(rounded)) return false;
    changed = changed || rounded != values[i];
    values[i] = rounded;
  }
  return changed;
}

/// What goes with the comparison of an error e with a change d.
struct Match {
  double ed = 0, dd = 0, ee = 0, eedd = 0, dddd = 0;

  void add(double e, double d) {
    ed += e * d;
    dd += d * d;
    ee += e * e;
    eedd += e * e * d * d;
    dddd += d * d * d * d;
  }
  double share() const { return dd > 0 ? ed / dd : 0; }
  double spread() const { return dd > 0 ? std::sqrt(eedd) / dd : 0; }
  double explained() const { return dd > 0 && ee > 0 ? ed / dd * ed / ee : 0; }
  /// What is left of e without its share of d, in the order of the elements: the sum of squares, and of squares of differences.
  double left = 0, steps = 0;

  /// Whether error and change go together only because both are slow: along a sum that runs, each rounding stays in all that
  /// comes behind it, and two such walks resemble each other by chance. Then what is left wanders as they do, and explains
  /// itself: its Durbin-Watson statistic is below the share that is explained (Granger and Newbold, "Spurious regressions in
  /// econometrics", 1974). Where next to all of it is explained, by about the whole change, it is that change all the same.
  bool wanders() const {
    const bool is_the_change = explained() >= 0.9 && share() > 0.5 && share() < 2;
    return !is_the_change && left > 0 && steps / left < explained();
  }

  /// Whether they go together beyond chance where few elements outweigh the others, so that spread(), which takes all of e for
  /// chance, is as large as the share itself: Student's t of the correlation, over as many elements as there would be if all
  /// weighed the same. Over 14 degrees of freedom that t comes once in half a million cases.
  bool together() const {
    constexpr double kWeighty = 16, kT2 = 60;
    const double elements = dddd > 0 ? dd * dd / dddd : 0;
    return elements >= kWeighty && explained() * (elements - 2) > kT2 * (1 - explained());
  }
};

/// Visits position among the outputs, position among the tensors, for each output of floats.
template <class Visit>
void each_output(const std::vector<TensorSpec>& specs, Visit visit) {
  size_t output = 0;
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].role == Role::input) continue;
    if (specs[k].element == Element::f32) visit(output, k);
    ++output;
  }
}

Match match(const std::vector<char>& bytes, const Buffer& reference, const std::vector<double>& moved) {
  Match m;
  for (size_t i = 0; i < moved.size(); ++i) {
    const double got = load(Element::f32, bytes.data(), int64_t(i)), want = reference.as<double>()[i];
    if (std::isfinite(got) && std::isfinite(want) && std::isfinite(moved[i])) m.add(got - want, moved[i]);
  }
  double before = 0;
  for (size_t i = 0; i < moved.size(); ++i) {
    const double got = load(Element::f32, bytes.data(), int64_t(i)), want = reference.as<double>()[i];
    if (!std::isfinite(got) || !std::isfinite(want) || !std::isfinite(moved[i])) continue;
    const double now = got - want - m.share() * moved[i];
    m.left += now * now;
    if (i > 0) m.steps += (now - before) * (now - before);
    before = now;
  }
  return m;
}

/// How outputs differ from the reference as a whole. `before`: what they held, if they are read as well; then the change counts.
std::string in_the_large(const std::vector<char>& bytes, const Buffer& reference, const Buffer* before) {
  double dot = 0, got2 = 0, want2 = 0, error2 = 0;
  const auto count = int64_t(bytes.size() / 4);
  for (int64_t i = 0; i < count; ++i) {
    const double old = before != nullptr ? load(Element::f32, before->data(), i) : 0;
    const double got = load(Element::f32, bytes.data(), i) - old, want = reference.as<double>()[i] - old;
    if (!std::isfinite(got) || !std::isfinite(want)) return "";
    dot += got * want;
    got2 += got * got;
    want2 += want * want;
    error2 += (got - want) * (got - want);
  }
  if (count < 2 || !(want2 > 0)) return "";
  const double gain = dot / want2, left2 = std::max(got2 - gain * dot, 0.0);
  if (left2 <= 1e-2 * error2 && gain != 1)
    return fmt::format("; all {} are {:.6g} times what they should be",
                       before != nullptr ? "changes" : "values", gain);
  // Roundings have nothing to do with the values: errors that are partly a multiple of them are a factor of a part.
  if (left2 < (1 - std::max(0.2, 9.0 / double(count))) * error2) return "";
  const double relative = std::sqrt(error2 / want2);  // of changes, if the outputs are changed in place
  // Roundings go both ways. Few elements show nothing.
  int64_t above = 0, below = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double error = load(Element::f32, bytes.data(), i) - reference.as<double>()[i];
    (error > 0 ? above : below) += error != 0 ? 1 : 0;
  }
  constexpr int64_t kFew = 8;
  if (above + below < kFew || 5 * std::min(above, below) < above + below) return "";
  // A norm that few elements make says nothing about arithmetic.
  const auto most_err_by = [&](double least) {
    int64_t erring = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double want =
          reference.as<double>()[i] - (before != nullptr ? load(Element::f32, before->data(), i) : 0);
      const double whole = reference.as<double>()[i];
      erring += std::abs(load(Element::f32, bytes.data(), i) - whole) > least * std::abs(want) ? 1 : 0;
    }
    return 2 * erring > count;
  };
  if (relative > 0x1p-11 && relative < 0x1p-7 && most_err_by(0x1p-12))
    return "; errs as bfloat16 does: looks like bfloat16 rounding inside";
  if (relative > 0x1p-14 && relative <= 0x1p-11 && most_err_by(0x1p-15))
    return "; errs as half precision does: looks like half-precision rounding inside";
  return "";
}

}  // namespace

Suspects::Suspects(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs, const Given& given)
    : specs_(specs), given_(given) {
  for (size_t input = 0; input < specs.size(); ++input) {
    if (specs[input].role == Role::output || specs[input].element != Element::f32) continue;
    if (volume(specs[input].dims) < kElements) continue;
    for (const Element element : kShort) {
      Tensors x(specs, Tensors::View::reference), magnitude(specs, Tensors::View::reference);
      copy_given(specs, given.inputs, x);
      poison_outputs(specs, x);
      if (!round_to(element, x[input].as<double>(), volume(specs[input].dims))) continue;
      for (size_t k = 0; k < specs.size(); ++k)
        std::fill_n(magnitude[k].as<char>(), magnitude[k].bytes(), char(0));
      op.reference(shape, x.pointers(), magnitude.pointers());
      Change change{fmt::format("{} rounding of {}", name_of(element), specs[input].name), {}};
      each_output(specs, [&](size_t output, size_t k) {
        change.moved.resize(output + 1);
        const double* from = given.reference[k].as<double>();
        const double* to = x[k].as<double>();
        for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i)
          change.moved[output].push_back(to[i] - from[i]);
      });
      changes_.push_back(std::move(change));
    }
  }
}

std::optional<Suspicion> Suspects::judge(const OutputBytes& outputs, const Numerics& numerics) const {
  if (bits_of(numerics.unit) <= 16) return std::nullopt;
  std::optional<Suspicion> suspicion;
  for (size_t c = 0; c < changes_.size(); ++c)
    each_output(specs_, [&](size_t output, size_t k) {
      if (suspicion || output >= changes_[c].moved.size()) return;
      const Match m = match(outputs[output], given_.reference[k], changes_[c].moved[output]);
      const double share = m.share(), most = 0.25 + (m.together() ? 0 : 4 * m.spread());
      // Where the change is far smaller or larger than the error, they are of different making.
      if (!(share > most) || share > 4 || m.explained() < 1.0 / 16 || m.wanders()) return;
      suspicion = Suspicion{c, output, specs_[k].name, changes_[c].what, share, most};
    });
  return suspicion;
}

Failure failure_of(const Suspicion& s) {
  return {
      .fault = Fault::whole_output,
      .tensor = s.tensor,
      .expected = "0",
      .got = fmt::format("{:.3g}", s.share),
      .bound = fmt::format("{:.3g}", s.most),
      .note = "looks like " + s.what + ": the share of its change that is in the output, over all elements"};
}

bool confirmed(const Suspicion& suspicion, const LabOp& op, ShapeView shape,
               const std::vector<TensorSpec>& specs, Trial& trial, const Given& given) {
  constexpr int kInputs = 16, kFewest = 8;
  constexpr double kT2 = 24;  // over 15 degrees of freedom, once in ten thousand
  double sum = 0, squares = 0, count = 0;
  for (uint64_t seed = 1; seed <= kInputs; ++seed) {
    Generator random(seed);
    const Given other = make_given(op, shape, specs, Pattern::random, random);
    if (trial.run(other).failure) {
      trial.run(given);
      return true;
    }
    const Suspects here(op.op, shape, specs, other);
    const auto same = std::ranges::find(here.changes_, suspicion.what, &Suspects::Change::what);
    if (same == here.changes_.end()) continue;  // at these inputs that rounding is none
    size_t tensor = 0;
    each_output(specs, [&](size_t output, size_t k) { tensor = output == suspicion.output ? k : tensor; });
    const OutputBytes outputs = trial.outputs();
    const Match m = match(outputs[suspicion.output], other.reference[tensor], same->moved[suspicion.output]);
    if (!(m.dd > 0)) continue;
    // A share of many times the change is another error's, and one such must not outweigh the others.
    const double share = std::clamp(m.share(), -4.0, 4.0);
    sum += share;
    squares += share * share;
    ++count;
  }
  trial.run(given);
  if (count < kFewest) return false;
  const double mean = sum / count, variance = std::max(squares - sum * mean, 0.0) / (count - 1);
  return mean > 0.25 && mean * mean * count > kT2 * variance;
}

std::string resemblance(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs,
                        const Given& given, const OutputBytes& outputs, const std::string& tensor) {
  std::string text;
  each_output(specs, [&](size_t output, size_t k) {
    if (specs[k].name == tensor)
      text = in_the_large(outputs[output], given.reference[k],
                          specs[k].role == Role::accumulate ? &given.inputs[k] : nullptr);
  });
  if (text.empty() || text.find("times") != std::string::npos) return text;
  if (const auto named = Suspects(op, shape, specs, given).judge(outputs, {}))
    return "; looks like " + named->what;
  return text;
}

}  // namespace klab
