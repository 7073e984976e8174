// Laws of factors and terms: what a value is multiplied by, and what is added to it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/check/law_list.h"
#include "harness/core/element.h"

namespace klab {
namespace {

constexpr int64_t kOwnFactors = 24;   // as many as cases at most
constexpr double kSameFactor = 2e-4;  // relative; factors that differ by less are one
// Factors and terms of less than this share of a value may be roundings to 16 or 8 bits: one for all values has to differ from 1 by more
// than the first, one for each group, which fits more easily, by more than the second.
constexpr double kNoRounding = 2e-3, kNoRoundingOfGroup = 1e-2;

double middle_of(std::vector<double> v) {
  if (v.empty()) return NAN;
  const auto middle = v.begin() + std::ptrdiff_t(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

/// Returns what the wrong elements were multiplied by, their middle; of what is added to `base`. NaN if too few show it.
double wrong_factor_of(const WrongCase& c, const std::vector<double>& base) {
  std::vector<double> factors;
  for (size_t i = 0; i < c.got.size(); ++i) {
    const double right = c.want[i] - base[i];
    if (c.wrong[i] == 0 || right == 0 || std::abs(right) < 1e-3 * std::abs(base[i])) continue;
    const double factor = (c.got[i] - base[i]) / right;
    if (std::isfinite(factor)) factors.push_back(factor);
  }
  return middle_of(std::move(factors));
}

Prediction scaled(const WrongCase& c, const std::vector<double>& base, double factor) {
  Prediction p(c.want.size());
  for (size_t i = 0; i < p.size(); ++i) p[i] = base[i] + factor * (c.want[i] - base[i]);
  return p;
}

bool is_near(double a, double b) { return std::abs(a - b) <= kSameFactor * std::abs(b); }

/// The same with room for an epsilon that is added to what a factor is made of.
bool follows(double a, double b) { return std::abs(a - b) <= 5e-3 * std::abs(b); }

}  // namespace

double largest_input(const WrongCase& c) {
  double largest = 0;
  for (size_t k = 0; k < c.specs.size(); ++k) {
    const TensorSpec& spec = c.specs[k];
    if (spec.role == Role::output || spec.element != Element::f32 || c.given->inputs[k].bytes() == 0)
      continue;
    for (int64_t i = 0, n = volume(spec.dims); i < n; ++i) {
      const double size = std::abs(load(spec.element, c.given->inputs[k].data(), i));
      if (std::isfinite(size)) largest = std::max(largest, size);
    }
  }
  return largest;
}

std::vector<CaseNumber> numbers_of(const WrongCases& cases) {
  std::vector<CaseNumber> list;
  const auto& dims = cases.op.op.dims;
  for (size_t d = 0; d < dims.size(); ++d)
    list.push_back({dims[d], [d](const WrongCase& c) { return double(c.shape[d]); }});
  for (size_t d = 0; d < dims.size(); ++d)
    for (size_t e = d + 1; e < dims.size(); ++e)
      list.push_back({dims[d] + "*" + dims[e],
                      [d, e](const WrongCase& c) { return double(c.shape[d]) * double(c.shape[e]); }});
  for (size_t k = 0; k < cases.specs().size(); ++k) {
    const TensorSpec& spec = cases.specs()[k];
    if (spec.role != Role::input || spec.element != Element::f32 || volume(spec.dims) != 1) continue;
    list.push_back({spec.name, [k](const WrongCase& c) {
                      return volume(c.specs[k].dims) != 1 ? NAN
                                                          : load(Element::f32, c.given->inputs[k].data(), 0);
                    }});
  }
  return list;
}

namespace {

constexpr NumberForm kForms[] = {
    {"{}", [](double x) { return x; }},
    {"1/({})", [](double x) { return 1 / x; }},
    {"sqrt({})", [](double x) { return std::sqrt(x); }},
    {"1/sqrt({})", [](double x) { return 1 / std::sqrt(x); }},
    {"1 - {}", [](double x) { return 1 - x; }},
    {"1/(1 - {})", [](double x) { return 1 / (1 - x); }},
    {"({})^2", [](double x) { return x * x; }},
    {"({0} - 1)/{0}", [](double x) { return (x - 1) / x; }},
    {"{0}/({0} - 1)", [](double x) { return x / (x - 1); }},
    {"sqrt(({0} - 1)/{0})", [](double x) { return std::sqrt((x - 1) / x); }},
    {"sqrt({0}/({0} - 1))", [](double x) { return std::sqrt(x / (x - 1)); }},
};

}  // namespace

std::vector<FollowedNumber> followed_numbers(const WrongCases& cases, const std::vector<CaseNumber>& numbers,
                                             const std::vector<double>& factors) {
  std::vector<FollowedNumber> list;
  const auto known = std::ranges::count_if(factors, [](double f) { return std::isfinite(f); });
  for (const CaseNumber& number : numbers)
    for (const NumberForm& form : kForms) {
      int agree = 0;
      for (size_t k = 0; k < factors.size(); ++k)
        agree +=
            std::isfinite(factors[k]) && follows(factors[k], form.of(number.value(cases.list[k]))) ? 1 : 0;
      if (10 * agree < 7 * int(known)) continue;
      std::string text = fmt::format(fmt::runtime(form.text), number.name);
      if (number.name.find('*') == std::string::npos && text == "1/(" + number.name + ")")
        text = "1/" + number.name;
      list.push_back({number, form, std::move(text)});
    }
  return list;
}

namespace {

void add_factor_laws(const WrongCases& cases, bool of_change, const std::vector<CaseNumber>& numbers,
                     std::vector<LawCandidate>& list) {
  const auto base_of = [of_change](const WrongCase& c) {
    return of_change ? c.before : std::vector<double>(c.want.size(), 0);
  };
  const std::string subject = of_change ? "What is added to each value is" : "{} is";
  std::vector<double> factors;
  for (const WrongCase& c : cases.list) factors.push_back(wrong_factor_of(c, base_of(c)));
  std::vector<double> known = factors;
  std::erase_if(known, [](double f) { return !std::isfinite(f); });
  if (known.empty()) return;
  const double one = middle_of(known);
  if (one != 0 && std::abs(one - 1) > kNoRounding)
    list.push_back({.mistake = is_near(one, -1) ? "a sign" : "one factor",
                    .sentence = fmt::format(
                        "{} {:.4g} times what it should be: {}", subject, one,
                        is_near(one, -1) ? "added where it should be subtracted, or a factor -1."
                                         : "a factor forgotten, applied twice, or one of other numbers."),
                    .parameters = 1,
                    .predict = [=](const WrongCase& c) { return scaled(c, base_of(c), one); }});
  // A factor that follows the sizes: only if it is not one number anyway.
  if (std::ranges::all_of(known, [&](double f) { return is_near(f, one); })) return;
  for (const FollowedNumber& f : followed_numbers(cases, numbers, factors))
    list.push_back(
        {.mistake = "one factor",
         .sentence = fmt::format("{} {} times what it should be: a division or a product by {} is missing, "
                                 "or made twice.",
                                 subject, f.text, f.number.name),
         .predict = [=, value = f.number.value, of = f.form.of](const WrongCase& c) {
           return scaled(c, base_of(c), of(value(c)));
         }});
}

void add_offset_law(const WrongCases& cases, std::vector<LawCandidate>& list) {
  constexpr double kSomeRoundings =
      0x1p-20;  // of the largest input: a smaller term may be what roundings left
  std::vector<double> offsets;
  size_t roundings = 0;
  for (const WrongCase& c : cases.list) {
    const double least = is_integer(cases.spec().element) ? 0 : kSomeRoundings * largest_input(c);
    for (size_t i = 0; i < c.got.size(); ++i)
      if (c.wrong[i] != 0 && std::isfinite(c.got[i]) && std::isfinite(c.want[i])) {
        offsets.push_back(c.got[i] - c.want[i]);
        roundings += std::abs(offsets.back()) < least ? 1 : 0;
      }
  }
  if (2 * roundings >= offsets.size()) return;
  const double offset = middle_of(std::move(offsets));
  list.push_back({.mistake = "one term",
                  .sentence = fmt::format("{{}} is off by {:.6g}: one term too many or too few{}.", offset,
                                          is_integer(cases.spec().element) && std::abs(offset) == 1
                                              ? ", or a rounding that goes the other way, as of halves"
                                              : ""),
                  .parameters = 1,
                  .predict = [=](const WrongCase& c) {
                    Prediction p = c.want;
                    for (double& x : p) x += offset;
                    return p;
                  }});
}

/// Numbers of one group of elements each: those that share their index along d, or all their other indices.
std::vector<int64_t> groups_of(const Dims& dims, size_t d, bool lines) {
  int64_t inner = 1;
  for (size_t e = d + 1; e < dims.size(); ++e) inner *= dims[e];
  const int64_t n = volume(dims);
  std::vector<int64_t> group(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    group[size_t(i)] = lines ? i / (inner * dims[d]) * inner + i % inner : i / inner % dims[d];
  return group;
}

/// Any factor, of its own in each case.
void add_own_factor(bool of_change, std::vector<LawCandidate>& list) {
  list.push_back({.mistake = "one factor",
                  .sentence = fmt::format(
                      "{} one factor times what it should be, another one in each case: all are scaled by a "
                      "number that is wrong, as a norm, a sum or a rate.",
                      of_change ? "What is added to each value is" : "{} is"),
                  .whole = true,
                  .parameters = kOwnFactors,
                  .predict = [of_change](const WrongCase& c) -> std::optional<Prediction> {
                    const auto base = of_change ? c.before : std::vector<double>(c.want.size(), 0);
                    const double f = wrong_factor_of(c, base);
                    if (!std::isfinite(f) || c.wrongs < 3) return std::nullopt;
                    return scaled(c, base, f);
                  }});
}

/// One factor or one term for each group, its middle; nullopt if groups are too small to show it.
std::optional<Prediction> by_group(const WrongCase& c, size_t d, bool lines, bool factor) {
  if (d >= c.dims().size()) return std::nullopt;
  const auto group = groups_of(c.dims(), d, lines);
  std::map<int64_t, std::vector<double>> seen, sizes;
  for (size_t i = 0; i < group.size(); ++i) {
    if (c.wrong[i] == 0 || (factor && c.want[i] == 0)) continue;
    const double x = factor ? c.got[i] / c.want[i] : c.got[i] - c.want[i];
    if (!std::isfinite(x)) continue;
    seen[group[i]].push_back(x);
    sizes[group[i]].push_back(factor ? 1 : std::abs(c.want[i]));
  }
  constexpr size_t kGroup = 4;
  std::map<int64_t, double> middle;
  for (const auto& [g, values] : seen) {
    if (values.size() < kGroup) continue;
    const double one = middle_of(values), change = std::abs(factor ? one - 1 : one);
    if (change > kNoRoundingOfGroup * middle_of(sizes[g])) middle[g] = one;
  }
  // One row of several shows nothing, and a tensor of one row a law only by many elements.
  const bool one_row = std::ranges::all_of(group, [](int64_t g) { return g == 0; });
  if (middle.empty() || (middle.size() == 1 && !(one_row && seen.begin()->second.size() >= 2 * kGroup)))
    return std::nullopt;
  Prediction p(c.want.size(), NAN);
  for (size_t i = 0; i < p.size(); ++i) {
    const auto at = middle.find(group[i]);
    if (at != middle.end()) p[i] = factor ? at->second * c.want[i] : c.want[i] + at->second;
  }
  return p;
}

void add_group_laws(const WrongCases& cases, std::vector<LawCandidate>& list) {
  const Dims& dims = cases.list.front().dims();
  if (dims.size() < 2) return;
  for (size_t d = 0; d < dims.size(); ++d)
    for (const bool lines : {false, true}) {
      if (lines && dims.size() == 2) continue;  // the other dimension's groups
      const std::string which = lines ? "each row along " + cases.dimension_name(cases.list.front().output, d)
                                      : "each " + cases.slice_name(cases.list.front().output, d);
      list.push_back({.mistake = "one factor",
                      .sentence = "{} is a multiple of what it should be, by one factor for " + which +
                                  ": what all values there are scaled by is wrong or missing.",
                      .predict = [=](const WrongCase& c) { return by_group(c, d, lines, true); }});
      list.push_back(
          {.mistake = "one term",
           .sentence = "{} is off by one number for " + which +
                       ": a term that all values there share, as a mean or a bias, is wrong or missing.",
           .predict = [=](const WrongCase& c) { return by_group(c, d, lines, false); }});
    }
}

/// Returns for each element of the output its element of tensor k: in the same place of memory if it has as many elements, the one of its
/// index along `along` if k has one dimension, or the only one. Empty if they do not fit.
std::vector<double> spread_over_output(const WrongCase& c, size_t k, size_t along) {
  const Dims &to = c.dims(), &from = c.specs[k].dims;
  const int64_t n = volume(to), m = volume(from);
  std::vector<double> values;
  if (m == 0 || c.given->inputs[k].bytes() == 0) return values;
  const auto at = [&](int64_t i) { return load(c.specs[k].element, c.given->inputs[k].data(), i); };
  if (m != 1 && m != n && !(from.size() == 1 && along < to.size() && from[0] == to[along])) return values;
  int64_t inner = 1;
  for (size_t e = along + 1; e < to.size(); ++e) inner *= to[e];
  for (int64_t i = 0; i < n; ++i)
    values.push_back(m == 1 ? at(0) : m == n ? at(i) : at(i / inner % to[along]));
  return values;
}

struct InputForm {
  const char* mistake;
  const char* text;  // {0}: the input
  double (*of)(double want, double input);
};
constexpr InputForm kInputForms[] = {
    {"one term",
     "{{}} lacks {0}: it is right with {0} added. The term is not added, or is subtracted elsewhere.",
     [](double want, double x) { return want - x; }},
    {"one term", "{{}} has {0} in it once too often: it is right with {0} subtracted.",
     [](double want, double x) { return want + x; }},
    {"a sign", "{{}} is off by twice {0}: it is added where it should be subtracted.",
     [](double want, double x) { return want + 2 * x; }},
    {"a sign", "{{}} is off by twice {0}: it is subtracted where it should be added.",
     [](double want, double x) { return want - 2 * x; }},
    {"one factor", "{{}} lacks the factor {0}: it is right times {0}.",
     [](double want, double x) { return want / x; }},
    {"one factor", "{{}} has the factor {0} once too often.", [](double want, double x) { return want * x; }},
    {"an input in place of the result", "{{}} holds {0} itself.", [](double, double x) { return x; }},
};

void add_input_forms(const WrongCases& cases, std::vector<LawCandidate>& list) {
  const Dims& to = cases.list.front().dims();
  for (size_t k = 0; k < cases.specs().size(); ++k) {
    const TensorSpec& spec = cases.specs()[k];
    if (spec.role == Role::output || k == cases.list.front().output) continue;
    const size_t ways = spec.dims.size() == 1 && to.size() > 1 ? to.size() : 1;
    for (size_t along = 0; along < ways; ++along)
      for (const InputForm& form : kInputForms)
        list.push_back({.mistake = form.mistake,
                        .sentence = fmt::format(fmt::runtime(form.text), spec.name),
                        .predict = [k, along, of = form.of](const WrongCase& c) -> std::optional<Prediction> {
                          Prediction p = spread_over_output(c, k, along);
                          if (p.size() != c.want.size()) return std::nullopt;
                          for (size_t i = 0; i < p.size(); ++i) p[i] = of(c.want[i], p[i]);
                          return p;
                        }});
  }
}

void add_old_content_laws(std::vector<LawCandidate>& list) {
  list.push_back(
      {.mistake = "old contents",
       .sentence = "{} lacks what the tensor held before: it is stored (=) where it should be added (+=).",
       .predict = [](const WrongCase& c) {
         Prediction p = c.want;
         for (size_t i = 0; i < p.size(); ++i) p[i] -= c.before[i];
         return p;
       }});
  list.push_back({.mistake = "old contents",
                  .sentence = "{} has what the tensor held before in it twice.",
                  .predict = [](const WrongCase& c) {
                    Prediction p = c.want;
                    for (size_t i = 0; i < p.size(); ++i) p[i] += c.before[i];
                    return p;
                  }});
  list.push_back({.mistake = "old contents",
                  .sentence = "{} is what it was before: nothing is added to it, or the sum is not stored.",
                  .predict = [](const WrongCase& c) { return c.before; }});
}

}  // namespace

void add_term_laws(const WrongCases& cases, std::vector<LawCandidate>& list) {
  const std::vector<CaseNumber> numbers = numbers_of(cases);
  const bool changes = cases.spec().role == Role::accumulate;
  if (changes) add_old_content_laws(list);
  add_factor_laws(cases, false, numbers, list);
  if (changes) add_factor_laws(cases, true, numbers, list);
  add_offset_law(cases, list);
  add_input_forms(cases, list);
}

void add_loose_laws(const WrongCases& cases, std::vector<LawCandidate>& list) {
  add_own_factor(false, list);
  if (cases.spec().role == Role::accumulate) add_own_factor(true, list);
  add_group_laws(cases, list);
}

}  // namespace klab
