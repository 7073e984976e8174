// Which elements are wrong: a rule that tells them from the right ones in all failing cases.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "harness/check/law_list.h"
#include "harness/core/element.h"

namespace klab {
namespace {

struct PlaceRule {
  std::string text;  // "the elements of the last row"
  std::function<bool(const WrongCase& c, int64_t i)> holds;
};

int64_t index_along(const Dims& dims, size_t d, int64_t i) {
  int64_t inner = 1;
  for (size_t e = d + 1; e < dims.size(); ++e) inner *= dims[e];
  return i / inner % dims[d];
}

/// Whether nearly all wrong elements and few others obey the rule, in nearly each case, and some case has others.
bool tells_apart(const PlaceRule& rule, const std::vector<WrongCase>& cases) {
  constexpr double kInside = 0.98, kOfInside = 0.8;
  int64_t outside = 0, all_wrongs = 0;
  size_t others = 0;  // cases that the rule does not fit, as one without anything in it does by chance
  for (const WrongCase& c : cases) {
    int64_t wrong_inside = 0, inside = 0;
    const auto n = int64_t(c.got.size());
    for (int64_t i = 0; i < n; ++i) {
      if (!rule.holds(c, i)) continue;
      ++inside;
      wrong_inside += c.wrong[size_t(i)];
    }
    if (double(wrong_inside) < kInside * double(c.wrongs) ||
        double(wrong_inside) < kOfInside * double(inside)) {
      if (10 * ++others > cases.size()) return false;
      continue;
    }
    outside += n - inside;
    all_wrongs += c.wrongs;
  }
  return all_wrongs >= 4 && outside >= 4;
}

void add_rules_along(const WrongCases& cases, size_t d, std::vector<PlaceRule>& rules) {
  const size_t k = cases.list.front().output;
  const std::string slice = cases.slice_name(k, d), name = cases.dimension_name(k, d);
  const bool flat = cases.list.front().dims().size() == 1;
  const auto add = [&](std::string text, auto holds) {
    rules.push_back({std::move(text), [=](const WrongCase& c, int64_t i) {
                       if (d >= c.dims().size()) return false;
                       return holds(index_along(c.dims(), d, i), c.dims()[d]);
                     }});
  };
  const auto of = [&](const std::string& which) {
    return flat ? "the " + which + " elements" : "the elements of the " + which + " " + slice;
  };
  add(of("last"), [](int64_t i, int64_t n) { return i == n - 1; });
  add(of("first"), [](int64_t i, int64_t) { return i == 0; });
  add(fmt::format("the elements at both ends of {}", name),
      [](int64_t i, int64_t n) { return i == 0 || i == n - 1; });
  add(fmt::format("elements outside the first {}", slice), [](int64_t i, int64_t) { return i > 0; });
  add(fmt::format("elements outside the last {}", slice), [](int64_t i, int64_t n) { return i < n - 1; });
  for (const int64_t tile : {4, 8, 16, 32, 64, 128, 256})
    add(fmt::format("the elements behind the last whole {} along {}", tile, name),
        [tile](int64_t i, int64_t n) { return n % tile != 0 && i >= n / tile * tile; });
  for (const int64_t tile : {4, 8, 16, 32, 64, 128, 256})
    add(fmt::format("the elements up to the last whole {} along {}", tile, name),
        [tile](int64_t i, int64_t n) { return i < n / tile * tile; });
  for (const int64_t tile : {4, 8, 16, 32, 64, 128, 256})
    add(fmt::format("the elements behind the first {} along {}", tile, name),
        [tile](int64_t i, int64_t) { return i >= tile; });
  for (int64_t at = 1; at < 16; ++at)
    add(fmt::format("the elements of {} {}", slice, at),
        [at](int64_t i, int64_t n) { return i == at && n > at; });
  for (const int64_t step : {2, 3, 4, 8, 16, 32})
    for (int64_t rest = 0; rest < step; ++rest)
      add(fmt::format("the elements with an index along {} of {} modulo {}", name, rest, step),
          [=](int64_t i, int64_t) { return i % step == rest; });
}

void add_rules_of_values(const WrongCases& cases, std::vector<PlaceRule>& rules) {
  const auto wanted = [&](const char* text, bool (*is)(double)) {
    // Elements of one sign tell nothing where no element has the other: all are wrong that are not 0.
    const auto has = [&](double sign) {
      return std::ranges::any_of(cases.list, [&](const WrongCase& c) {
        return std::ranges::any_of(c.want, [&](double x) { return sign * x > 0; });
      });
    };
    if (!is(0) && !(has(1) && has(-1))) return;
    rules.push_back({text, [is](const WrongCase& c, int64_t i) { return is(c.want[size_t(i)]); }});
  };
  wanted("the elements that should be negative", [](double x) { return x < 0; });
  wanted("the elements that should be 0", [](double x) { return x == 0; });
  wanted("the elements that should be positive", [](double x) { return x > 0; });
  for (size_t k = 0; k < cases.specs().size(); ++k) {
    const TensorSpec& spec = cases.specs()[k];
    if (spec.role == Role::output) continue;
    if (is_integer(spec.element)) {
      for (size_t d = 0; d < cases.list.front().dims().size(); ++d)
        rules.push_back({fmt::format("the elements at the index that {} names", spec.name),
                         [k, d](const WrongCase& c, int64_t i) {
                           const Dims &to = c.dims(), &from = c.specs[k].dims;
                           if (to.size() != 2 || from.size() != 1 || d > 1 || from[0] != to[1 - d])
                             return false;
                           const double at =
                               load(c.specs[k].element, c.given->inputs[k].data(), index_along(to, 1 - d, i));
                           return at == double(index_along(to, d, i));
                         }});
      continue;
    }
    const auto input = [&](const char* text, bool (*is)(double)) {
      rules.push_back({fmt::format(fmt::runtime(text), spec.name), [k, is](const WrongCase& c, int64_t i) {
                         if (c.specs[k].dims != c.dims() || c.given->inputs[k].bytes() == 0) return false;
                         return is(load(c.specs[k].element, c.given->inputs[k].data(), i));
                       }});
    };
    input("the elements where {} is negative", [](double x) { return x < 0; });
    input("the elements where {} is 0", [](double x) { return x == 0; });
    input("the elements where {} is positive", [](double x) { return x > 0; });
    input("the elements where {} is above 1", [](double x) { return x > 1; });
    input("the elements where {} is at least 1 from 0", [](double x) { return std::abs(x) >= 1; });
  }
}

void add_rules_of_pairs(const WrongCases& cases, std::vector<PlaceRule>& rules) {
  const size_t rank = cases.list.front().dims().size(), k = cases.list.front().output;
  for (size_t d = 0; d + 1 < rank; ++d) {
    const std::string a = cases.dimension_name(k, d), b = cases.dimension_name(k, d + 1);
    const auto add = [&](std::string text, bool (*is)(int64_t, int64_t)) {
      rules.push_back({std::move(text), [d, is](const WrongCase& c, int64_t i) {
                         return d + 1 < c.dims().size() &&
                                is(index_along(c.dims(), d, i), index_along(c.dims(), d + 1, i));
                       }});
    };
    add(fmt::format("the elements on the diagonal of {} and {}", a, b),
        [](int64_t i, int64_t j) { return i == j; });
    add(fmt::format("the elements off the diagonal of {} and {}", a, b),
        [](int64_t i, int64_t j) { return i != j; });
    add(fmt::format("the elements above the diagonal of {} and {}", a, b),
        [](int64_t i, int64_t j) { return i < j; });
    add(fmt::format("the elements below the diagonal of {} and {}", a, b),
        [](int64_t i, int64_t j) { return i > j; });
  }
}

}  // namespace

std::string where_wrong(const WrongCases& cases) {
  std::vector<PlaceRule> rules;
  for (size_t d = 0; d < cases.list.front().dims().size(); ++d) add_rules_along(cases, d, rules);
  add_rules_of_values(cases, rules);
  add_rules_of_pairs(cases, rules);
  for (const PlaceRule& rule : rules)
    if (tells_apart(rule, cases.list)) return rule.text;
  return "";
}

}  // namespace klab
