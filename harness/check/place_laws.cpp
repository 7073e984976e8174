// Laws of places: an element holds what belongs elsewhere, a sum of neighbors, or a function of the right value.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "harness/check/law_list.h"
#include "harness/core/element.h"

namespace klab {
namespace {

/// Returns the elements before dimension d, along it, and behind it.
struct ElementsAlong {
  int64_t outer = 1, extent = 1, inner = 1;
  ElementsAlong(const Dims& dims, size_t d) : extent(dims[d]) {
    for (size_t e = 0; e < d; ++e) outer *= dims[e];
    for (size_t e = d + 1; e < dims.size(); ++e) inner *= dims[e];
  }
};

/// Predicts at each element what `from(index along d, extent)` belongs to; NaN where that is negative or beyond.
template <class From>
LawCandidate moved_along(const WrongCases& cases, size_t d, std::string mistake, std::string sentence,
                         From from) {
  static_cast<void>(cases);
  return {.mistake = std::move(mistake),
          .sentence = std::move(sentence),
          .predict = [=](const WrongCase& c) -> std::optional<Prediction> {
            if (d >= c.dims().size() || c.dims()[d] < 2) return std::nullopt;
            const ElementsAlong a(c.dims(), d);
            Prediction p(c.want.size(), NAN);
            for (int64_t o = 0; o < a.outer; ++o)
              for (int64_t i = 0; i < a.extent; ++i) {
                const int64_t to = from(i, a.extent);
                if (to < 0 || to >= a.extent) continue;
                for (int64_t k = 0; k < a.inner; ++k)
                  p[size_t((o * a.extent + i) * a.inner + k)] =
                      c.want[size_t((o * a.extent + to) * a.inner + k)];
              }
            return p;
          }};
}

constexpr const char* kOtherPlaces = "elements in each other's places";

void add_moves(const WrongCases& cases, size_t d, std::vector<LawCandidate>& list) {
  const size_t k = cases.list.front().output;
  const std::string slice = cases.slice_name(k, d), name = cases.dimension_name(k, d);
  const std::string word = slice.starts_with("index") ? "place" : slice;
  const std::string along = slice.starts_with("index") ? " along " + name : "";
  for (const int64_t s : {1, 2, 3, 4, 8, 16})
    for (const int64_t sign : {1, -1}) {
      const int64_t by = s * sign;
      list.push_back(moved_along(cases, d, s == 1 ? "an index off by a place" : kOtherPlaces,
                                 fmt::format("{{}} is the one that belongs {} {}{} {}{}: an index begins in "
                                             "the wrong place, or the value is taken "
                                             "too {}.",
                                             s, word, s == 1 ? "" : "s", by > 0 ? "later" : "earlier", along,
                                             by > 0 ? "late" : "early"),
                                 [by](int64_t i, int64_t) { return i + by; }));
    }
  list.push_back(moved_along(
      cases, d, kOtherPlaces,
      fmt::format("{{}} is that of the first {}{}: the index along {} is not used.", word, along, name),
      [](int64_t, int64_t) { return int64_t(0); }));
  list.push_back(
      moved_along(cases, d, kOtherPlaces,
                  fmt::format("{{}} is that of the last {}{}: an index outlives its loop.", word, along),
                  [](int64_t, int64_t extent) { return extent - 1; }));
  list.push_back(moved_along(
      cases, d, kOtherPlaces,
      fmt::format("{{}} is in the place of the other one of its pair: {}s 2i and 2i + 1 are exchanged{}.",
                  word, along),
      [](int64_t i, int64_t) { return i ^ 1; }));
  list.push_back(moved_along(
      cases, d, kOtherPlaces,
      fmt::format("{{}} is in reverse order: the first {} holds what belongs into the last{}.", word, along),
      [](int64_t i, int64_t extent) { return extent - 1 - i; }));
  for (const int64_t half : {2, 4})
    list.push_back(moved_along(
        cases, d, kOtherPlaces,
        fmt::format("{{}} is that of {} i/{}{}: an index is divided that should not be.", word, half, along),
        [half](int64_t i, int64_t) { return i / half; }));
}

/// Predicts that dimensions d and d + 1 are written in each other's order.
LawCandidate transposed(const WrongCases& cases, size_t d) {
  const size_t k = cases.list.front().output;
  return {.mistake = kOtherPlaces,
          .sentence =
              fmt::format("{{}} is in the place that it has where {} and {} are transposed: the index of the "
                          "result is computed with the two exchanged.",
                          cases.dimension_name(k, d), cases.dimension_name(k, d + 1)),
          .predict = [=](const WrongCase& c) -> std::optional<Prediction> {
            if (d + 1 >= c.dims().size()) return std::nullopt;
            const ElementsAlong a(c.dims(), d), b(c.dims(), d + 1);
            Prediction p(c.want.size());
            for (int64_t o = 0; o < a.outer; ++o)
              for (int64_t i = 0; i < a.extent; ++i)
                for (int64_t j = 0; j < b.extent; ++j)
                  for (int64_t r = 0; r < b.inner; ++r)
                    p[size_t(((o * b.extent + j) * a.extent + i) * b.inner + r)] =
                        c.want[size_t(((o * a.extent + i) * b.extent + j) * b.inner + r)];
            return p;
          }};
}

/// Predicts sums of right values along d.
LawCandidate summed(size_t d, std::string sentence, bool all_before) {
  return {.mistake = "a sum that is not set to zero",
          .sentence = std::move(sentence),
          .predict = [=](const WrongCase& c) -> std::optional<Prediction> {
            if (d >= c.dims().size() || c.dims()[d] < 2) return std::nullopt;
            const ElementsAlong a(c.dims(), d);
            Prediction p = c.want;
            for (int64_t o = 0; o < a.outer; ++o)
              for (int64_t i = 1; i < a.extent; ++i)
                for (int64_t k = 0; k < a.inner; ++k) {
                  const size_t before = size_t((o * a.extent + i - 1) * a.inner + k);
                  p[size_t((o * a.extent + i) * a.inner + k)] += all_before ? p[before] : c.want[before];
                }
            return p;
          }};
}

/// The same through all elements in the order of memory.
LawCandidate summed_in_memory() {
  return {.mistake = "a sum that is not set to zero",
          .sentence =
              "{} is the sum of its own value and all before it: a sum goes on from element to element. Set "
              "it to zero "
              "inside the loop.",
          .predict = [](const WrongCase& c) {
            Prediction p = c.want;
            for (size_t i = 1; i < p.size(); ++i) p[i] += p[i - 1];
            return p;
          }};
}

struct ValueFunction {
  const char* mistake;
  const char* text;
  double (*of)(double);
};
constexpr const char* kFunction = "a function of the result";
const ValueFunction kFunctions[] = {
    {kFunction,
     "{} is cut off at 0: where a negative value is expected it is 0, as by ReLU, by a maximum that starts "
     "at 0, or by an "
     "unsigned type.",
     [](double x) { return x < 0 ? 0.0 : x; }},
    {kFunction, "{} is cut off at 0: where a positive value is expected it is 0.",
     [](double x) { return x > 0 ? 0.0 : x; }},
    {"a sign", "{} has the right amount but is never negative.", [](double x) { return std::abs(x); }},
    {"a sign", "{} has the right amount but is never positive.", [](double x) { return -std::abs(x); }},
    {kFunction, "{} is cut off at 1.", [](double x) { return std::min(x, 1.0); }},
    {kFunction, "{} is the square of what it should be: a square root is missing.",
     [](double x) { return x * x; }},
    {kFunction, "{} is the square root of what it should be.", [](double x) { return std::sqrt(x); }},
    {kFunction, "{} is the reciprocal of what it should be.", [](double x) { return 1 / x; }},
    {kFunction, "{} is 1 minus what it should be.", [](double x) { return 1 - x; }},
    {kFunction, "{} is the logarithm of what it should be: an exponential is missing.",
     [](double x) { return std::log(x); }},
    {kFunction, "{} is the exponential of what it should be: a logarithm is missing.",
     [](double x) { return std::exp(x); }},
    {kFunction, "{} went through the logistic function once too often.",
     [](double x) { return 1 / (1 + std::exp(-x)); }},
    {kFunction, "{} lacks the logistic function.", [](double x) { return std::log(x / (1 - x)); }},
    {kFunction, "{} went through tanh once too often.", [](double x) { return std::tanh(x); }},
    {kFunction, "{} lacks tanh.", [](double x) { return std::atanh(x); }},
    {"rounding to whole numbers", "{} is cut to a whole number: an integer type or division is on the way.",
     [](double x) { return std::trunc(x); }},
    {"rounding to whole numbers", "{} is rounded to a whole number.",
     [](double x) { return std::nearbyint(x); }},
    {"rounding to whole numbers", "{} is rounded down to a whole number.",
     [](double x) { return std::floor(x); }},
    {"the range of a format", "{} is the rest modulo 256, -128 to 127: it went through a signed byte.",
     [](double x) { return std::abs(x) < 1e15 ? double(int8_t(uint64_t(int64_t(x)))) : NAN; }},
    {"the range of a format", "{} is the rest modulo 256: it went through a byte.",
     [](double x) { return std::abs(x) < 1e15 ? double(uint8_t(uint64_t(int64_t(x)))) : NAN; }},
    {"the range of a format",
     "{} is the rest modulo 65536, -32768 to 32767: it went through a short integer.",
     [](double x) { return std::abs(x) < 1e15 ? double(int16_t(uint64_t(int64_t(x)))) : NAN; }},
    {"the range of a format", "{} is the rest modulo 65536: it went through an unsigned short integer.",
     [](double x) { return std::abs(x) < 1e15 ? double(uint16_t(uint64_t(int64_t(x)))) : NAN; }},
};

/// Predicts the right value where what is expected is what `cut` makes of it: a cut at the end is missing.
LawCandidate uncut(std::string sentence, double limit, bool above) {
  return {.mistake = kFunction,
          .sentence = std::move(sentence),
          .whole = true,
          .predict = [=](const WrongCase& c) {
            Prediction p = c.want;
            for (size_t i = 0; i < p.size(); ++i)
              if (c.want[i] == limit && (above ? c.got[i] > limit : c.got[i] < limit)) p[i] = c.got[i];
            return p;
          }};
}

LawCandidate rounded_to(Element element, const char* name) {
  return {.mistake = "a narrow format",
          .sentence = fmt::format("{{}} is the right one rounded to {}: results pass through 16 bits.", name),
          .whole = true,
          .predict = [=](const WrongCase& c) -> std::optional<Prediction> {
            if (c.specs[c.output].element != Element::f32) return std::nullopt;
            Prediction p(c.want.size());
            for (size_t i = 0; i < p.size(); ++i) {
              uint16_t bits = 0;
              store(element, &bits, 0, c.want[i]);
              p[i] = load(element, &bits, 0);
            }
            return p;
          }};
}

/// The right values in another order. It predicts what is there, where both have the same values.
LawCandidate in_other_places() {
  return {.mistake = "values in other places",
          .sentence =
              "{} is the right value of another element: an index is wrong, or of several equal numbers "
              "another one is taken.",
          .predict = [](const WrongCase& c) -> std::optional<Prediction> {
            // The wrong ones change places among themselves: all values together hide a few that are merely off.
            std::vector<double> got, want;
            for (size_t i = 0; i < c.got.size(); ++i)
              if (c.wrong[i] != 0) got.push_back(c.got[i]), want.push_back(c.want[i]);
            if (std::ranges::any_of(got, [](double x) { return !std::isfinite(x); })) return std::nullopt;
            std::ranges::sort(got);
            std::ranges::sort(want);
            if (want.size() < 2) return std::nullopt;
            const double slack = 1e-5 * std::max(std::abs(want.front()), std::abs(want.back()));
            size_t same = 0;
            for (size_t i = 0; i < got.size(); ++i) same += std::abs(got[i] - want[i]) <= slack ? 1 : 0;
            bool moved = false;
            for (size_t i = 0; i < c.got.size(); ++i) moved |= std::abs(c.got[i] - c.want[i]) > slack;
            // Where every value differs by less than the slack, they are rounded, and none is at another place.
            if (20 * same < 19 * want.size() || !moved) return std::nullopt;
            return c.got;
          }};
}

/// One number in all wrong places.
LawCandidate one_number(const WrongCases& cases) {
  std::vector<double> got;
  for (const WrongCase& c : cases.list)
    for (size_t i = 0; i < c.got.size(); ++i)
      if (c.wrong[i] != 0 && std::isfinite(c.got[i])) got.push_back(c.got[i]);
  double number = NAN;
  if (!got.empty()) {
    const auto middle = got.begin() + std::ptrdiff_t(got.size() / 2);
    std::nth_element(got.begin(), middle, got.end());
    number = *middle;
  }
  return {.mistake = "one number for all",
          .sentence = fmt::format(
              "{{}} is {:.6g}, whatever belongs there: what a variable began with stays, or the part of "
              "the work that would replace it is skipped.",
              number),
          .predict = [number](const WrongCase& c) -> std::optional<Prediction> {
            if (!std::isfinite(number) || number == 0)
              return std::nullopt;  // zeros have a sentence of their own
            return Prediction(c.want.size(), number);
          }};
}

/// The error of the element before: what a running sum does that subtracts what it added.
LawCandidate carried_error() {
  return {.mistake = "errors that are carried along",
          .sentence =
              "{} has the error of the value before it: each is made from the one before, so roundings stay "
              "and add "
              "up, as where a running sum subtracts what it added. Sum up afresh at short distances.",
          .predict = [](const WrongCase& c) -> std::optional<Prediction> {
            constexpr double kSomeRoundings = 0x1p-18;  // of the largest input
            const double most = kSomeRoundings * largest_input(c);
            const auto n = size_t(c.dims().empty() ? 1 : c.dims().back());
            Prediction p(c.want.size(), NAN);
            int64_t small = 0;
            for (size_t i = 0; i < p.size(); ++i) {
              small += c.wrong[i] != 0 && std::abs(c.got[i] - c.want[i]) <= most ? 1 : 0;
              if (i % n > 0) p[i] = c.want[i] + (c.got[i - 1] - c.want[i - 1]);
            }
            if (2 * small < c.wrongs || is_integer(c.specs[c.output].element)) return std::nullopt;
            return p;
          }};
}

}  // namespace

void add_place_laws(const WrongCases& cases, std::vector<LawCandidate>& list) {
  const size_t rank = cases.list.front().dims().size(), k = cases.list.front().output;
  for (size_t d = 0; d < rank; ++d) {
    list.push_back(summed(
        d,
        fmt::format(
            "{{}} is the sum of its own value and all before it along {}: a sum goes on from one {} to the "
            "next. Set it to zero where the loop over {} begins its body.",
            cases.dimension_name(k, d), cases.slice_name(k, d), cases.dimension_name(k, d)),
        true));
    list.push_back(summed(d,
                          fmt::format("{{}} is the sum of its own value and the one before it along {}.",
                                      cases.dimension_name(k, d)),
                          false));
  }
  if (rank > 1) list.push_back(summed_in_memory());
  for (size_t d = 0; d < rank; ++d) add_moves(cases, d, list);
  for (size_t d = 0; d + 1 < rank; ++d) list.push_back(transposed(cases, d));
  for (const ValueFunction& f : kFunctions)
    list.push_back(
        {.mistake = f.mistake, .sentence = f.text, .whole = true, .predict = [of = f.of](const WrongCase& c) {
           Prediction p = c.want;
           for (double& x : p) x = of(x);
           return p;
         }});
  list.push_back(uncut(
      "{} is right but where 0 is expected: there it is negative. What cuts off negative values, as ReLU "
      "or max(x, 0), is missing.",
      0, false));
  list.push_back(uncut(
      "{} is right but where 1 is expected: there it is larger. What cuts off at 1 is missing.", 1, true));
  list.push_back(rounded_to(Element::bf16, "bfloat16"));
  list.push_back(rounded_to(Element::f16, "half precision"));
  list.push_back(in_other_places());
  list.push_back(one_number(cases));
  list.push_back(carried_error());
}

}  // namespace klab
