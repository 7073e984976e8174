// The search for the property: single properties first, then two of them together, then either of two.
#include "harness/check/in_common.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>

namespace klab {
namespace {

/// A property, and for each case whether it has it, a bit each.
struct Property {
  std::string text;   // "nhwc=1"
  double weight = 1;  // how much a reader has to believe for it
  std::vector<uint64_t> holds;
};

/// What twice as many passing cases that have the property, too, cost in units of a property's weight.
constexpr double kException = 1.5;
/// A property that more of the passing cases have than this tells nothing.
constexpr double kMostExceptions = 0.4;
constexpr double kTogether = 0.75, kEither = 0.5;  // added to the weights of two
constexpr double kTwoOfMany = 0.25;
constexpr size_t kFewCases = 4;
constexpr size_t kNoRemainders = SIZE_MAX;
constexpr int64_t kDivisors[] = {2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024};

class Search {
 public:
  Search(const SurveyedSizes& sizes, const std::vector<SurveyedCase>& cases) : sizes_(sizes), cases_(cases) {
    failed_ = bits([](const SurveyedCase& c) { return c.failed; });
    divisors_.insert(std::begin(kDivisors), std::end(kDivisors));
    for (const int64_t t : sizes.tiles)
      if (t > 1) divisors_.insert(t);
  }

  std::optional<Property> run() {
    for (size_t d = 0; d < sizes_.names.size(); ++d) add_dimension(d);
    if (cases_.front().threads > 0)
      add_values(
          "threads", 0.3, [](const SurveyedCase& c) { return c.threads; }, kNoRemainders);
    for (size_t d = 0; d < sizes_.names.size(); ++d)
      for (size_t e = d + 1; e < sizes_.names.size(); ++e)
        if (!sizes_.parameter[d] && !sizes_.parameter[e]) add_pair(d, e);
    add_inputs();
    return choose();
  }

  size_t exceptions(const Property& p) const {
    size_t count = 0;
    for (size_t w = 0; w < failed_.size(); ++w) count += size_t(std::popcount(p.holds[w] & ~failed_[w]));
    return count;
  }

 private:
  using Bits = std::vector<uint64_t>;

  template <class Holds>
  Bits bits(Holds holds) const {
    Bits list((cases_.size() + 63) / 64, 0);
    for (size_t i = 0; i < cases_.size(); ++i)
      if (holds(cases_[i])) list[i / 64] |= uint64_t(1) << i % 64;
    return list;
  }

  /// Keeps a property if all failing cases have it; one that only failing cases have may be one of two causes.
  template <class Holds>
  void add(std::string text, double weight, Holds holds) {
    Property p{std::move(text), weight, bits(holds)};
    bool covers = true, only = true, any = false;
    for (size_t w = 0; w < failed_.size(); ++w) {
      covers = covers && (failed_[w] & ~p.holds[w]) == 0;
      only = only && (p.holds[w] & ~failed_[w]) == 0;
      any = any || (p.holds[w] & failed_[w]) != 0;
    }
    if (covers)
      covering_.push_back(std::move(p));
    else if (only && any)
      partial_.push_back(std::move(p));
  }

  /// Properties of one number: its value, its limits, and its remainders if it has at least `fewest` different values.
  template <class Value>
  void add_values(const std::string& name, double more, Value value, size_t fewest) {
    std::set<int64_t> all, failing;
    for (const SurveyedCase& c : cases_) {
      all.insert(value(c));
      if (c.failed) failing.insert(value(c));
    }
    if (all.size() < 2) return;
    for (const int64_t v : failing)
      add(fmt::format("{}={}", name, v), 1 + more, [&](const SurveyedCase& c) { return value(c) == v; });
    if (failing.size() == 2 && all.size() > 2)
      // Two of many values are found by chance among few failing cases.
      add(fmt::format("{}={} or {}", name, *failing.begin(), *failing.rbegin()),
          1.7 + more + kTwoOfMany * std::log2(double(all.size()) / 2),
          [&](const SurveyedCase& c) { return failing.contains(value(c)); });
    const auto least = all.find(*failing.begin()), most = all.find(*failing.rbegin());
    if (least != all.begin())
      add(fmt::format("{} > {}", name, *std::prev(least)), 1.2 + more,
          [&](const SurveyedCase& c) { return value(c) >= *least; });
    if (std::next(most) != all.end())
      add(fmt::format("{} < {}", name, *std::next(most)), 1.3 + more,
          [&](const SurveyedCase& c) { return value(c) <= *most; });
    if (all.size() < fewest) return;
    for (const int64_t k : divisors_) {
      if (k >= *all.rbegin()) break;
      const double round = std::has_single_bit(uint64_t(k)) ? 1.4 : 1.6;
      const int64_t first = *failing.begin() % k;
      if (std::ranges::all_of(failing, [&](int64_t v) { return v % k == first; }) && failing.size() > 1)
        add(fmt::format("{} mod {} = {}", name, k, first), round + more,
            [&](const SurveyedCase& c) { return value(c) % k == first; });
      // If several divisors fit as well, the largest claims least.
      add(k == 2 ? name + " odd" : fmt::format("{} mod {} > 0", name, k),
          round - 0.1 - 1e-5 * double(k) + more, [&](const SurveyedCase& c) { return value(c) % k != 0; });
    }
  }

  void add_dimension(size_t d) {
    // A parameter of few values is a kind; one of many is a number, as bits are.
    add_values(
        sizes_.names[d], sizes_.parameter[d] ? -0.1 : 0, [d](const SurveyedCase& c) { return c.shape[d]; },
        sizes_.parameter[d] ? 5 : 2);
  }

  void add_pair(size_t d, size_t e) {
    const std::string &a = sizes_.names[d], &b = sizes_.names[e];
    add(a + " other than " + b, 1.6, [=](const SurveyedCase& c) { return c.shape[d] != c.shape[e]; });
    add(a + " = " + b, 1.6, [=](const SurveyedCase& c) { return c.shape[d] == c.shape[e]; });
    add(a + " > " + b, 1.6, [=](const SurveyedCase& c) { return c.shape[d] > c.shape[e]; });
    add(a + " < " + b, 1.6, [=](const SurveyedCase& c) { return c.shape[d] < c.shape[e]; });
    add_values(
        a + "*" + b, 1.2, [=](const SurveyedCase& c) { return c.shape[d] * c.shape[e]; }, 2);
  }

  void add_inputs() {
    std::set<Pattern> failing;
    for (const SurveyedCase& c : cases_)
      if (c.failed) failing.insert(c.pattern);
    for (const Pattern p : failing)
      add(std::string(name_of(p)) + " inputs", 1, [p](const SurveyedCase& c) { return c.pattern == p; });
    std::string list;
    for (const Pattern p : failing) list += (list.empty() ? "" : " or ") + std::string(name_of(p));
    if (failing.size() > 1 && failing.size() < 4)
      add(list + " inputs", 1 + 0.3 * double(failing.size()),
          [&](const SurveyedCase& c) { return failing.contains(c.pattern); });
    add("pointers off alignment", 1.2, [](const SurveyedCase& c) { return c.alignment != Alignment::whole; });
    add("aligned pointers", 1.5, [](const SurveyedCase& c) { return c.alignment == Alignment::whole; });
  }

  double cost_of_exceptions(const Property& p) const {
    return kException * std::log2(1 + double(exceptions(p)));
  }

  std::optional<Property> choose() const {
    std::optional<Property> best;
    double least = 0;
    const auto offer = [&](const Property& p, double cost) {
      if (best && cost >= least) return;
      best = p;
      least = cost;
    };
    for (const Property& p : covering_) offer(p, p.weight + cost_of_exceptions(p));
    const size_t covering = covering_.size();
    for (size_t i = 0; i < covering; ++i)
      for (size_t j = i + 1; j < covering; ++j) {
        const Property &p = covering_[i], &q = covering_[j];
        const double weight = p.weight + q.weight + kTogether;
        if (best && weight >= least) continue;
        Property both{p.text + " and " + q.text, weight, p.holds};
        for (size_t w = 0; w < both.holds.size(); ++w) both.holds[w] &= q.holds[w];
        offer(both, weight + cost_of_exceptions(both));
      }
    const size_t passing =
        size_t(std::ranges::count_if(cases_, [](const SurveyedCase& c) { return !c.failed; }));
    for (size_t i = 0; i < partial_.size() && passing >= kFewCases; ++i)
      for (size_t j = i + 1; j < partial_.size(); ++j) {
        const Property &p = partial_[i], &q = partial_[j];
        const double weight = p.weight + q.weight + kEither;
        if (best && weight >= least) continue;
        Property either{p.text + " or " + q.text, weight, p.holds};
        bool covers = true;
        for (size_t w = 0; w < either.holds.size(); ++w) {
          either.holds[w] |= q.holds[w];
          covers = covers && (failed_[w] & ~either.holds[w]) == 0;
        }
        if (covers) offer(either, weight);
      }
    return best;
  }

  const SurveyedSizes& sizes_;
  const std::vector<SurveyedCase>& cases_;
  Bits failed_;
  std::set<int64_t> divisors_;
  std::vector<Property> covering_, partial_;
};

/// Returns whether a size, not a parameter, is zero: nothing is computed there, and nothing can be wrong.
bool is_empty(const SurveyedSizes& sizes, const SurveyedCase& c) {
  for (size_t d = 0; d < c.shape.size(); ++d)
    if (c.shape[d] == 0 && !sizes.parameter[d]) return true;
  return false;
}

/// Searches these cases; `which` names them: "" or " with random inputs".
std::string common_of_cases(const SurveyedSizes& sizes, const std::vector<SurveyedCase>& cases,
                            const std::string& which) {
  const auto failing = size_t(std::ranges::count_if(cases, [](const SurveyedCase& c) { return c.failed; }));
  const size_t passing = cases.size() - failing;
  if (failing == 0 || (passing == 0 && failing == 1)) return "";
  if (passing == 0)
    return fmt::format("all {} cases{} fail, whatever their sizes{}", failing, which,
                       which.empty() ? " and inputs" : "");
  // One failing case of many has dozens of properties of its own, and so have one or two that pass.
  if (failing == 1 && passing >= kFewCases) return "";
  if (2 * passing <= kFewCases && failing > 16 * passing)
    return fmt::format("all but {} of {} cases{} fail", passing, failing + passing, which);
  Search search(sizes, cases);
  const auto found = search.run();
  if (!found) return "";
  const size_t also = search.exceptions(*found);
  if (double(also) > kMostExceptions * double(passing)) return "";
  const std::string begin = failing == 1 ? fmt::format("the one failing case{} has", which)
                                         : fmt::format("all {} failing cases{} have", failing, which);
  if (also == 0) return fmt::format("{} {}, none of the {} that pass has", begin, found->text, passing);
  return fmt::format("{} {}, and so {} {} of the {} that pass", begin, found->text, also == 1 ? "does" : "do",
                     also, passing);
}

}  // namespace

std::string in_common(const SurveyedSizes& sizes, const std::vector<SurveyedCase>& every) {
  std::vector<SurveyedCase> cases = every;
  if (std::ranges::none_of(cases, [&](const SurveyedCase& c) { return c.failed && is_empty(sizes, c); }))
    std::erase_if(cases, [&](const SurveyedCase& c) { return is_empty(sizes, c); });
  const std::string text = common_of_cases(sizes, cases, "");
  if (!text.empty()) return text;
  // Inputs may hide a mistake: differences of denormal numbers are within every bound.
  std::erase_if(cases, [](const SurveyedCase& c) {
    return c.pattern != Pattern::random || c.alignment != Alignment::whole;
  });
  return common_of_cases(sizes, cases, " with random inputs");
}

}  // namespace klab
