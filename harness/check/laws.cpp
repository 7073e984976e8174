#include "harness/check/laws.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

#include "harness/check/law_list.h"
#include "harness/core/element.h"
#include "harness/core/optional_dims.h"

namespace klab {
namespace {

constexpr int64_t kMostLawElements = 1 << 15;
constexpr double kObey = 0.9;       // of the elements of a case
constexpr double kCasesObey = 0.8;  // of the cases
/// Different pairs of values, right and wrong, among the elements that obey: fewer obey by chance, the more so in one case.
constexpr size_t kWitnesses = 4, kWitnessesOfOne = 8;
/// A prediction explains an error if this share of it is left at most.
constexpr double kLeft = 0.01, kLeftWithinBound = 0.1;

using Witnesses = std::set<std::pair<double, double>>;

struct LawAgreement {
  int64_t wrong = 0, obeying = 0, right = 0, kept = 0;
  double share() const { return wrong > 0 ? double(obeying) / double(wrong) : 0; }
  bool obeys() const { return wrong > 0 && double(obeying) >= kObey * double(wrong); }
  bool keeps() const { return double(kept) >= kObey * double(right); }
};

bool explains(double got, double want, double predicted, double bound) {
  if (!std::isfinite(got) || !std::isfinite(want) || !std::isfinite(predicted)) return false;
  const double error = std::abs(got - want), left = std::abs(got - predicted);
  return left <= kLeft * error || (left <= bound && left <= kLeftWithinBound * error);
}

LawAgreement agreement(const WrongCase& c, const Prediction& p, Witnesses& witnesses) {
  LawAgreement a;
  for (size_t i = 0; i < c.got.size(); ++i) {
    if (std::isnan(p[i])) continue;
    if (c.wrong[i] == 0) {
      ++a.right;
      const double slack = c.bound[i] + 1e-5 * std::abs(c.want[i]);
      a.kept += std::abs(p[i] - c.want[i]) <= 2 * slack ? 1 : 0;
      continue;
    }
    if (!std::isfinite(c.got[i]) && std::isfinite(c.want[i])) continue;  // no law says what became NaN
    ++a.wrong;
    if (!explains(c.got[i], c.want[i], p[i], c.bound[i])) continue;
    ++a.obeying;
    if (witnesses.size() < 64) witnesses.insert({c.want[i], c.got[i]});
  }
  return a;
}

/// How well a candidate fits all cases.
struct LawFit {
  bool holds = false, whole = true;
  int cases = 0, of = 0;
  double share = 1;
};

LawFit fit(const LawCandidate& law, const std::vector<WrongCase>& cases) {
  LawFit f;
  Witnesses witnesses;
  const auto all = int(cases.size());
  int failing = 0;
  for (const WrongCase& c : cases) {
    const auto predicted = law.predict(c);
    if (!predicted || predicted->size() != c.got.size()) continue;
    const LawAgreement a = agreement(c, *predicted, witnesses);
    if (2 * a.wrong <= c.wrongs) continue;  // it says nothing about most
    ++f.of;
    if (!a.obeys() || (law.whole && !a.keeps())) {
      // A law that fails at the first two is no law of most.
      if (++failing > (1 - kCasesObey) * all || (failing == 2 && f.cases == 0)) return f;
      continue;
    }
    ++f.cases;
    f.share = std::min(f.share, a.share());
    f.whole = f.whole && a.keeps();
  }
  const size_t needed = (f.cases > 1 ? kWitnesses : kWitnessesOfOne) + size_t(law.parameters);
  f.holds = f.cases > 0 && f.cases >= kCasesObey * f.of && 2 * f.of >= all && witnesses.size() >= needed;
  return f;
}

}  // namespace

std::string WrongCases::dimension_name(size_t k, size_t d) const {
  std::string name;
  for (size_t e = 0; e < op.op.dims.size(); ++e) {
    const bool same = std::ranges::all_of(list, [&](const WrongCase& c) {
      return d < c.specs[k].dims.size() && c.specs[k].dims[d] == c.shape[e];
    });
    if (!same) continue;
    if (!name.empty()) return fmt::format("dimension {}", d);
    name = op.op.dims[e];
  }
  return name.empty() ? fmt::format("dimension {}", d) : name;
}

std::string WrongCases::slice_name(size_t k, size_t d) const {
  const size_t rank = list.front().specs[k].dims.size();
  if (rank == 1) return "element";
  if (rank == 2) return d == 0 ? "row" : "column";
  return "index along " + dimension_name(k, d);
}

std::optional<WrongCase> wrong_case(const Op& op, const Numerics& numerics, ShapeView shape,
                                    const std::vector<TensorSpec>& specs, std::shared_ptr<const Given> given,
                                    const std::vector<std::vector<char>>& outputs,
                                    const std::string& tensor) {
  WrongCase c{.shape = with_all_dims(op, shape), .specs = specs, .given = std::move(given)};
  const std::vector<char>* bytes = nullptr;
  size_t next = 0;
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].role == Role::input) continue;
    if (next < outputs.size() && specs[k].name == tensor) bytes = &outputs[next], c.output = k;
    ++next;
  }
  if (bytes == nullptr) return std::nullopt;
  const TensorSpec& spec = specs[c.output];
  const int64_t n = volume(spec.dims);
  if (n > kMostLawElements) return std::nullopt;
  const Element wide = spec.element == Element::f32 ? Element::f64 : spec.element;
  const Tolerance allowed = tolerance(numerics, op.terms(shape), is_hard(c.given->pattern), spec.element);
  for (int64_t i = 0; i < n; ++i) {
    const double got = load(spec.element, bytes->data(), i),
                 want = load(wide, c.given->reference[c.output].data(), i);
    const double size = is_integer(spec.element) ? 0 : load(wide, c.given->magnitude[c.output].data(), i);
    const double bound = allowed.exact ? 0 : allowed.bound(size, want);
    const bool same = got == want || (std::isnan(got) && std::isnan(want)) || std::abs(got - want) <= bound ||
                      (allowed.exact && spec.element == Element::f32 && float(got) == float(want));
    c.got.push_back(got);
    c.want.push_back(want);
    c.bound.push_back(bound);
    c.before.push_back(spec.role == Role::accumulate ? load(spec.element, c.given->inputs[c.output].data(), i)
                                                     : 0);
    c.wrong.push_back(same ? 0 : 1);
    c.wrongs += same ? 0 : 1;
  }
  if (c.wrongs == 0) return std::nullopt;
  return c;
}

std::optional<Law> law_of(const LabOp& op, const std::vector<WrongCase>& cases, bool with_inputs) {
  if (cases.empty()) return std::nullopt;
  const WrongCases seen{op, cases};
  std::vector<LawCandidate> list;
  add_term_laws(seen, list);
  add_place_laws(seen, list);
  if (with_inputs) add_input_laws(seen, list);
  add_loose_laws(seen, list);
  const LawCandidate* best = nullptr;
  LawFit best_fit;
  const auto better = [&](const LawFit& f) {
    if (best == nullptr) return true;
    if (f.whole != best_fit.whole) return f.whole;
    if (2 * f.of < best_fit.of) return false;
    return f.cases * best_fit.of > best_fit.cases * f.of + best_fit.of * f.of / 20;
  };
  for (const LawCandidate& law : list) {
    const LawFit f = fit(law, cases);
    if (!f.holds || !better(f)) continue;
    best = &law;
    best_fit = f;
  }
  const std::string where = where_wrong(seen);
  if (best == nullptr) {
    if (where.empty()) return std::nullopt;
    const bool rest = where.find("behind the last whole") != std::string::npos;
    return Law{.mistake = rest ? "off-by-one at a tile's edge" : "one part of the output",
               .sentence = fmt::format(
                   "Only {} are wrong{}", where,
                   rest ? ": what a loop over whole tiles leaves over, or does twice. Compare its bound with "
                          "the size: i + tile <= n, and a tail for the rest."
                        : ". Which code makes just these?"),
               .values = false,
               .cases = int(cases.size()),
               .of = int(cases.size()),
               .share = 1};
  }
  std::string sentence = best->sentence;
  const size_t at = sentence.find("{}");
  if (at != std::string::npos) sentence.replace(at, 2, best_fit.whole ? "Every value" : "Every wrong value");
  if (!best_fit.whole && !where.empty()) sentence += fmt::format(" Only {} are wrong.", where);
  if (best_fit.cases < best_fit.of)
    sentence += fmt::format(" That holds in {} of {} failing cases.", best_fit.cases, best_fit.of);
  return Law{.mistake = best->mistake,
             .sentence = std::move(sentence),
             .cases = best_fit.cases,
             .of = best_fit.of,
             .share = best_fit.share};
}

std::string law_note(const LabOp& op, const Numerics& numerics, ShapeView shape,
                     const std::vector<TensorSpec>& specs, const Given& given,
                     const std::vector<std::vector<char>>& outputs, const std::string& tensor) {
  constexpr int64_t kMostNoted = 4096;
  const auto spec = std::ranges::find(specs, tensor, &TensorSpec::name);
  if (spec == specs.end() || volume(spec->dims) > kMostNoted) return "";
  // The case lives as long as this call, and so does what it points to.
  const std::shared_ptr<const Given> borrowed(std::shared_ptr<const Given>(), &given);
  std::vector<WrongCase> cases;
  if (auto c = wrong_case(op.op, numerics, shape, specs, borrowed, outputs, tensor))
    cases.push_back(std::move(*c));
  const auto law = law_of(op, cases, false);
  if (!law || !law->values) return "";
  std::string text = law->sentence;
  text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  if (text.ends_with('.')) text.pop_back();
  return "; " + text;
}

}  // namespace klab
