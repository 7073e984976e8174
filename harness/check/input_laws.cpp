// Laws of inputs: the output is right for other inputs, by the reference itself. They name the input that is not read, the end of a
// sum that is cut, or the parameter that is not used.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "harness/check/cases.h"
#include "harness/check/law_list.h"
#include "harness/core/element.h"

namespace klab {
namespace {

constexpr double kReferenceWork = 3e5;  // in units of work(): larger cases are not computed again

/// Changes an input of the reference, in place. Returns false if it does not apply.
using InputChange = std::function<bool(const WrongCase& c, Tensors& x)>;

/// Runs the reference at a shape of the same tensors on changed inputs; returns the wrong output.
std::optional<Prediction> reference_with(const LabOp& op, const WrongCase& c, ShapeView shape,
                                         const InputChange& change) {
  if (work(op.op, shape) > kReferenceWork) return std::nullopt;
  Tensors x(c.specs, Tensors::View::reference), magnitude(c.specs, Tensors::View::reference);
  copy_given(c.specs, c.given->inputs, x);
  if (!change(c, x)) return std::nullopt;
  poison_outputs(c.specs, x);
  for (size_t k = 0; k < c.specs.size(); ++k)
    if (const Buffer& b = magnitude[k]; b.bytes() > 0) std::memset(b.data(), 0, size_t(b.bytes()));
  op.op.reference(shape, x.pointers(), magnitude.pointers());
  const TensorSpec& spec = c.specs[c.output];
  const Element wide = spec.element == Element::f32 ? Element::f64 : spec.element;
  Prediction p(c.want.size());
  for (size_t i = 0; i < p.size(); ++i) p[i] = load(wide, x[c.output].data(), int64_t(i));
  return p;
}

LawCandidate with_inputs(const WrongCases& cases, std::string mistake, std::string sentence,
                         InputChange change) {
  return {.mistake = std::move(mistake),
          .sentence = std::move(sentence),
          .predict = [&op = cases.op, change = std::move(change)](const WrongCase& c) {
            return reference_with(op, c, c.shape, change);
          }};
}

/// Sets each number of tensor k to what `value` makes of it.
InputChange each_of(size_t k, double (*value)(double)) {
  return [=](const WrongCase& c, Tensors& x) {
    double* v = x[k].as<double>();
    for (int64_t i = 0, n = volume(c.specs[k].dims); i < n; ++i) v[i] = value(v[i]);
    return true;
  };
}

/// Sets those of tensor k to 0 whose index along d `outside(index, extent)` holds for; false if there is none.
template <class Outside>
InputChange without(size_t k, size_t d, Outside outside) {
  return [=](const WrongCase& c, Tensors& x) {
    const Dims& dims = c.specs[k].dims;
    if (d >= dims.size()) return false;
    int64_t inner = 1;
    for (size_t e = d + 1; e < dims.size(); ++e) inner *= dims[e];
    bool any = false;
    double* v = x[k].as<double>();
    for (int64_t i = 0, n = volume(dims); i < n; ++i)
      if (outside(i / inner % dims[d], dims[d])) v[i] = 0, any = true;
    return any;
  };
}

/// Gives every index along d the numbers of the first.
InputChange first_for_all(size_t k, size_t d) {
  return [=](const WrongCase& c, Tensors& x) {
    const Dims& dims = c.specs[k].dims;
    if (d >= dims.size() || dims[d] < 2) return false;
    int64_t inner = 1;
    for (size_t e = d + 1; e < dims.size(); ++e) inner *= dims[e];
    double* v = x[k].as<double>();
    for (int64_t i = 0, n = volume(dims); i < n; ++i)
      v[i] = v[i / (inner * dims[d]) * inner * dims[d] + i % inner];
    return true;
  };
}

/// Gives each index along d the numbers of the one `by` later, and the last ones those of the last.
InputChange read_next_to(size_t k, size_t d, int64_t by) {
  return [=](const WrongCase& c, Tensors& x) {
    const Dims& dims = c.specs[k].dims;
    if (d >= dims.size() || dims[d] < 2) return false;
    int64_t inner = 1;
    for (size_t e = d + 1; e < dims.size(); ++e) inner *= dims[e];
    const int64_t n = volume(dims);
    double* v = x[k].as<double>();
    const std::vector<double> old(v, v + n);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = i / inner % dims[d], from = std::clamp(at + by, int64_t(0), dims[d] - 1);
      v[i] = old[size_t(i + (from - at) * inner)];
    }
    return true;
  };
}

/// Reads a square of the first two of its dimensions as its transpose.
InputChange turned_over(size_t k) {
  return [=](const WrongCase& c, Tensors& x) {
    const Dims& dims = c.specs[k].dims;
    if (dims.size() != 2 || dims[0] < 2 || dims[1] < 2) return false;
    double* v = x[k].as<double>();
    const std::vector<double> old(v, v + volume(dims));
    // The same memory, read as [dims[1], dims[0]] and transposed.
    for (int64_t i = 0; i < dims[0]; ++i)
      for (int64_t j = 0; j < dims[1]; ++j) v[i * dims[1] + j] = old[size_t(j * dims[0] + i)];
    return true;
  };
}

InputChange copy_of(size_t k, size_t other) {
  return [=](const WrongCase& c, Tensors& x) {
    if (c.specs[k].dims != c.specs[other].dims) return false;
    std::memcpy(x[k].data(), x[other].data(), size_t(x[k].bytes()));
    return true;
  };
}

InputChange exchanged(size_t k, size_t other) {
  return [=](const WrongCase& c, Tensors& x) {
    if (c.specs[k].dims != c.specs[other].dims) return false;
    std::swap_ranges(x[k].as<char>(), x[k].as<char>() + x[k].bytes(), x[other].as<char>());
    return true;
  };
}

/// Whether numbers of the tensor may be set to others of its range: 0, those of other elements.
bool may_be_changed(const WrongCases& cases, size_t k) {
  const TensorSpec& spec = cases.specs()[k];
  if (spec.role == Role::output || spec.element != Element::f32 || k == cases.list.front().output)
    return false;
  return spec.role == Role::accumulate || is_free(spec, cases.specs());
}

bool is_scalar(const TensorSpec& spec) {
  return spec.role == Role::input && spec.element == Element::f32 && volume(spec.dims) == 1;
}

constexpr const char* kNotRead = "an input that is not read";
constexpr const char* kCut = "a sum that is cut short";

void add_whole_input(const WrongCases& cases, size_t k, std::vector<LawCandidate>& list) {
  const TensorSpec& spec = cases.specs()[k];
  const std::string& name = spec.name;
  const auto add = [&](const char* mistake, const std::string& sentence, const InputChange& change) {
    list.push_back(with_inputs(cases, mistake, sentence, change));
  };
  add(kNotRead, fmt::format("{{}} is the result with {0} taken as 0: {0} is not added, or not read.", name),
      each_of(k, [](double) { return 0.0; }));
  if (spec.draw != Draw::unit) {
    add(kNotRead,
        fmt::format("{{}} is the result with {0} taken as 1: {0} is not multiplied in, or not read.", name),
        each_of(k, [](double) { return 1.0; }));
    add("a sign", fmt::format("{{}} is the result with -{0} in place of {0}.", name),
        each_of(k, [](double x) { return -x; }));
    add("a function of an input",
        fmt::format("{{}} is the result with the amount |{0}| in place of {0}.", name),
        each_of(k, [](double x) { return std::abs(x); }));
    add("a function of an input",
        fmt::format("{{}} is the result with the square of {0} in place of {0}.", name),
        each_of(k, [](double x) { return x * x; }));
    add("a function of an input", fmt::format("{{}} is the result with twice {0} in place of {0}.", name),
        each_of(k, [](double x) { return 2 * x; }));
  }
  add("a function of an input", fmt::format("{{}} is the result with half of {0} in place of {0}.", name),
      each_of(k, [](double x) { return x / 2; }));
  for (size_t other = 0; other < cases.specs().size(); ++other) {
    const TensorSpec& from = cases.specs()[other];
    if (other == k || !may_be_changed(cases, other) || from.draw != spec.draw ||
        from.dims.size() != spec.dims.size())
      continue;
    add(kNotRead,
        fmt::format("{{}} is the result with {1} in place of {0}: {1} takes the place of {0}.", name,
                    from.name),
        copy_of(k, other));
    if (k < other)
      add("two inputs exchanged",
          fmt::format("{{}} is the result with {} and {} exchanged.", name, from.name), exchanged(k, other));
  }
}

void add_parts_of_input(const WrongCases& cases, size_t k, std::vector<LawCandidate>& list) {
  const TensorSpec& spec = cases.specs()[k];
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const std::string along = cases.dimension_name(k, d);
    const auto cut = [&](const std::string& what, const char* why, const InputChange& change) {
      list.push_back(with_inputs(
          cases, kCut,
          fmt::format("{{}} is the result without {} of {} along {}: {}", what, spec.name, along, why),
          change));
    };
    const char* const whole = "what a loop over whole tiles leaves over is missing.";
    cut("the last", "a sum or a loop ends one too early.",
        without(k, d, [](int64_t i, int64_t n) { return n > 1 && i == n - 1; }));
    cut("the first", "a sum or a loop begins one too late.",
        without(k, d, [](int64_t i, int64_t n) { return n > 1 && i == 0; }));
    cut("every second", "a step of 2, or one half of a pair, is lost.",
        without(k, d, [](int64_t i, int64_t) { return i % 2 == 1; }));
    cut("all but the first", "only the first term is taken.",
        without(k, d, [](int64_t i, int64_t) { return i > 0; }));
    cut("all but the last", "each term replaces the sum before it: = where += belongs.",
        without(k, d, [](int64_t i, int64_t n) { return i < n - 1; }));
    for (const int64_t tile : {4, 8, 16, 32, 64, 128, 256})
      cut(fmt::format("the rest behind the last whole {}", tile), whole,
          without(k, d, [tile](int64_t i, int64_t n) { return i >= n / tile * tile; }));
    for (const int64_t tile : {4, 8, 16, 32, 64, 128, 256})
      cut(fmt::format("what follows the first {}", tile), "only the first tile is taken.",
          without(k, d, [tile](int64_t i, int64_t) { return i >= tile; }));
    list.push_back(with_inputs(
        cases, "an index that is not used",
        fmt::format("{{}} is the result with the first of {} along {} in place of each: an index does "
                    "not use {}.",
                    spec.name, along, along),
        first_for_all(k, d)));
    for (const int64_t by : {1, -1})
      list.push_back(with_inputs(cases, "an index off by a place",
                                 fmt::format("{{}} is the result with {} read one place {} along {}.",
                                             spec.name, by > 0 ? "later" : "earlier", along),
                                 read_next_to(k, d, by)));
  }
  list.push_back(with_inputs(
      cases, "rows and columns exchanged",
      fmt::format("{{}} is the result with {0} read as its transpose: the index of {0} is computed "
                  "with the other one's length.",
                  spec.name),
      turned_over(k)));
}

void add_scalar(const WrongCases& cases, size_t k, std::vector<LawCandidate>& list) {
  const std::string& name = cases.specs()[k].name;
  const auto add = [&](const std::string& instead, double (*value)(double)) {
    list.push_back(with_inputs(cases, kNotRead,
                               fmt::format("{{}} is the result with {} in place of {}.", instead, name),
                               each_of(k, value)));
  };
  add("0", [](double) { return 0.0; });
  add("1", [](double) { return 1.0; });
  add("1 - " + name, [](double x) { return 1 - x; });
  add("the square of " + name, [](double x) { return x * x; });
  add("the root of " + name, [](double x) { return std::sqrt(std::abs(x)); });
}

/// The part of a result that is a power of tensor k, with all of its numbers scaled together; nullopt if it is no such part, or none.
struct PowerPart {
  double power = 1;
  Prediction part;
};
std::optional<PowerPart> power_part(const LabOp& op, const WrongCase& c, size_t k) {
  const auto half = reference_with(op, c, c.shape, each_of(k, [](double x) { return x / 2; }));
  const auto quarter = reference_with(op, c, c.shape, each_of(k, [](double x) { return x / 4; }));
  if (!half || !quarter) return std::nullopt;
  for (const double power : {1.0, 2.0, -1.0}) {
    const double in_half = 1 - std::exp2(-power), in_quarter = 1 - std::exp2(-2 * power);
    int64_t some = 0, fit = 0;
    PowerPart one{.power = power, .part = Prediction(c.want.size())};
    for (size_t i = 0; i < c.want.size(); ++i) {
      const double a = c.want[i] - (*half)[i], b = c.want[i] - (*quarter)[i];
      one.part[i] = a / in_half;
      if (!std::isfinite(a) || !std::isfinite(b)) return std::nullopt;
      if (std::abs(a) <= 1e-6 * std::abs(c.want[i])) continue;
      ++some;
      fit += std::abs(b / in_quarter - one.part[i]) <= 1e-4 * std::abs(one.part[i]) ? 1 : 0;
    }
    if (some > 0 && double(fit) >= 0.95 * double(some)) return one;
  }
  return std::nullopt;
}

/// Factors of the part of a result that an input makes, while the rest is right: one for all cases, or one that follows their sizes.
/// Halves keep the order and the range of inputs that are drawn with a purpose.
void add_factor_of_part(const WrongCases& cases, size_t k, std::vector<LawCandidate>& list) {
  constexpr double kNoRounding = 1e-2, kExact = 2e-3;
  const auto middle_of = [](std::vector<double> v) {
    std::ranges::nth_element(v, v.begin() + std::ptrdiff_t(v.size() / 2));
    return v[v.size() / 2];
  };
  std::vector<std::optional<PowerPart>> parts;
  std::vector<double> factors, powers, of_cases;
  for (const WrongCase& c : cases.list) {
    const auto& one = parts.emplace_back(power_part(cases.op, c, k));
    of_cases.push_back(NAN);
    if (!one) continue;
    std::vector<double> own;
    for (size_t i = 0; i < c.want.size(); ++i) {
      const double factor = 1 + (c.got[i] - c.want[i]) / one->part[i];
      if (c.wrong[i] == 0 || std::abs(one->part[i]) < 1e-3 * std::abs(c.want[i]) || !std::isfinite(factor))
        continue;
      own.push_back(factor);
      powers.push_back(one->power);
    }
    factors.insert(factors.end(), own.begin(), own.end());
    if (!own.empty()) of_cases.back() = middle_of(own);
  }
  if (factors.empty()) return;
  const double factor = middle_of(factors), power = middle_of(powers);
  const std::string part = fmt::format("the part that {} {}",
                                       power < 0   ? "falls with"
                                       : power > 1 ? "grows with the square of"
                                                   : "grows with",
                                       cases.specs()[k].name);
  const auto predict = [parts, power, first = cases.list.data()](const WrongCase& c,
                                                                 double by) -> std::optional<Prediction> {
    const auto& one = parts[size_t(&c - first)];
    if (!one || one->power != power || !std::isfinite(by)) return std::nullopt;
    Prediction p = c.want;
    for (size_t i = 0; i < p.size(); ++i) p[i] += (by - 1) * one->part[i];
    return p;
  };
  std::vector<double> known = of_cases;
  std::erase_if(known, [](double f) { return !std::isfinite(f); });
  const auto [least, most] = std::ranges::minmax(known);
  if (most - least > kNoRounding * std::abs(most))
    for (const FollowedNumber& f : followed_numbers(cases, numbers_of(cases), of_cases))
      list.push_back({.mistake = "one factor",
                      .sentence = fmt::format(
                          "{{}} is right but for {}, which is {} times what it should be.", part, f.text),
                      .predict = [predict, value = f.number.value, of = f.form.of](const WrongCase& c) {
                        return predict(c, of(value(c)));
                      }});
  if (std::abs(factor - 1) < kNoRounding) return;
  LawCandidate law{.mistake = "one factor", .parameters = 1};
  if (std::abs(factor) < kExact)
    law.mistake = "one term", law.sentence = fmt::format("{{}} lacks {}: that term is not added.", part);
  else if (std::abs(factor + 1) < kExact)
    law.mistake = "a sign", law.sentence = fmt::format("{{}} has the wrong sign in {}.", part);
  else
    law.sentence =
        fmt::format("{{}} is right but for {}, which is {:.4g} times what it should be.", part, factor);
  law.predict = [predict, factor](const WrongCase& c) { return predict(c, factor); };
  list.push_back(std::move(law));
}

/// The results of other values of a parameter: what the shape asks for is not used.
void add_parameters(const WrongCases& cases, std::vector<LawCandidate>& list) {
  for (size_t d = 0; d < cases.op.op.dims.size(); ++d) {
    if (!is_parameter(cases.op, d)) continue;
    std::set<int64_t> values = {0, 1};
    if (!cases.op.check.empty()) {
      const auto& usual = cases.op.check.size() == 1 ? cases.op.check.front() : cases.op.check[d];
      values.insert(usual.begin(), usual.end());
    }
    const std::string& name = cases.op.op.dims[d];
    for (const int64_t value : values) {
      if (values.size() > 12 && value > 1) break;
      list.push_back({.mistake = "a parameter that is not used",
                      .sentence = fmt::format(
                          "{{}} is the result of {0}={1}: {0} is not used, or not everywhere.", name, value),
                      .predict = [&op = cases.op, d, value](const WrongCase& c) -> std::optional<Prediction> {
                        std::vector<int64_t> shape = c.shape;
                        if (shape[d] == value) return std::nullopt;
                        shape[d] = value;
                        if (!op.op.valid(shape)) return std::nullopt;
                        const auto specs = op.op.tensors(shape);
                        for (size_t k = 0; k < specs.size(); ++k)
                          if (specs[k].dims != c.specs[k].dims) return std::nullopt;
                        return reference_with(op, c, shape, [](const WrongCase&, Tensors&) { return true; });
                      }});
    }
  }
}

}  // namespace

void add_input_laws(const WrongCases& cases, std::vector<LawCandidate>& list) {
  add_parameters(cases, list);
  for (size_t k = 0; k < cases.specs().size(); ++k) {
    if (is_scalar(cases.specs()[k])) add_scalar(cases, k, list);
    if (!may_be_changed(cases, k)) continue;
    add_whole_input(cases, k, list);
    add_parts_of_input(cases, k, list);
  }
  for (size_t k = 0; k < cases.specs().size(); ++k) {
    const TensorSpec& spec = cases.specs()[k];
    if (spec.role != Role::output && spec.element == Element::f32 && k != cases.list.front().output)
      add_factor_of_part(cases, k, list);
  }
}

}  // namespace klab
