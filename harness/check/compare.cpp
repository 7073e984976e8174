#include "harness/check/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "harness/core/element.h"
#include "reference/formats.h"

namespace klab {
namespace {

// What a correct variant would store of the reference's value, when nothing is rounded on the way.
bool same_bits(const TensorSpec& spec, const Buffer& got, const Buffer& reference, int64_t i) {
  const int64_t width = size_of(spec.element);
  const char* mine = got.as<char>() + i * width;
  if (spec.element != Element::f32)
    return std::memcmp(mine, reference.as<char>() + i * width, size_t(width)) == 0;
  const auto want = std::bit_cast<uint32_t>(float(reference.as<double>()[i]));
  return std::memcmp(mine, &want, sizeof want) == 0;
}

enum class Verdict { right, wrong, not_finite };

Verdict judge(double got, double want, double bound, double most, bool may_be_nan) {
  if (std::isnan(want)) {
    if (!may_be_nan) return Verdict::not_finite;  // the reference itself has no answer
    return std::isnan(got) ? Verdict::right : Verdict::wrong;
  }
  if (std::isinf(want) && may_be_nan) return got == want ? Verdict::right : Verdict::wrong;
  if (std::isfinite(got)) return std::abs(got - want) <= bound ? Verdict::right : Verdict::wrong;
  // An infinity is right only where the value, or a value within the bound of it, is beyond the type.
  const bool overflows = std::abs(want) + bound > most;
  return overflows && std::isinf(got) && std::signbit(got) == std::signbit(want) ? Verdict::right
                                                                                 : Verdict::not_finite;
}

}  // namespace

double unit_roundoff(Unit unit) {
  switch (unit) {
    case Unit::f64:
      return unit_roundoff(Element::f64);
    case Unit::f32:
      return unit_roundoff(Element::f32);
    case Unit::bf16:
      return unit_roundoff(Element::bf16);
    case Unit::f16:
      return unit_roundoff(Element::f16);
    case Unit::e4m3:
      return std::ldexp(1.0, -kE4m3.digits);
    case Unit::e5m2:
      return std::ldexp(1.0, -kE5m2.digits);
  }
  return 0;
}

double linear_growth(double n, double u) { return std::min(std::expm1(-n * std::log1p(-u)), 0x1p100) / u; }

double sqrt_growth(double n, double u, double lambda) {
  const double walk = std::expm1(lambda * std::sqrt(n) * u + n * u * u / (1 - u)) / u;
  return std::min(walk, linear_growth(n, u));
}

namespace {

// Factors of eight bits, sums in float: a product errs by (1+u)^2 - 1, whatever the number of terms, and l products in a row by
// (1+u)^(2l) - 1. To first order the contract's magnitude has that already, with a growth of 2; the root of the terms leaves room for
// the rest, (1+u)^(2l-2), in chains of up to 8 products of the narrowest sums, 7 terms, and of 18 of sums of 70. It is no smaller,
// since contracts with sums of two lengths scale their magnitudes by the root of their ratio.
//
// A factor that is 2^-18 times the largest of its scale is lost whole. On hard inputs an output may consist of such products, and
// nothing is proven but that a result is not larger than what it is made of: as if u were 1.
void hold_to_eight_bits(Tolerance& t, double terms, bool hard) {
  t.factor = hard ? std::sqrt(terms) / t.unit : 2 * std::sqrt(terms);
  t.root = hard ? t.factor : std::sqrt(terms) / 2;
}

}  // namespace

Tolerance tolerance(const Numerics& numerics, double terms, bool hard, Element element) {
  Tolerance t;
  t.exact = terms == 0 || is_integer(element);
  if (t.exact) return t;
  t.unit = unit_roundoff(numerics.unit);
  const bool walk = numerics.growth == Growth::sqrt && !hard;
  t.factor = walk ? sqrt_growth(terms, t.unit) : linear_growth(terms, t.unit);
  t.root = walk ? sqrt_growth(terms, t.unit, 1) : t.factor;
  if (bits_of(numerics.unit) == 8) hold_to_eight_bits(t, terms, hard);
  // Half a step for each operation and for the last rounding; twice that, as what follows may scale it a little. A
  // contract in which more than that may follow adds 2^-126 times the factor to its magnitude.
  // Processors' instructions for bfloat16 take denormal factors and sums for zero (Intel SDM, VDPBF16PS), and so does a GPU's
  // atomic addition of floats in global memory (PTX ISA, atom). Variants with such sums say that they are not deterministic.
  const double least =
      numerics.unit == Unit::f16 ? smallest_denormal(Element::f16)
      : numerics.unit == Unit::bf16 || (numerics.unit == Unit::f32 && !numerics.deterministic)
          ? 0x1p-126
          : smallest_denormal(Element::f32);
  t.underflow = least * (terms + 2);
  if (element != Element::f32) {
    // The reference holds such tensors in their own type: both sides were rounded to it.
    t.stored = 2 * unit_roundoff(element);
    t.underflow += smallest_denormal(element);
  } else if (numerics.unit == Unit::f64) {
    t.stored = unit_roundoff(Element::f32);
  }
  return t;
}

namespace {

// What a comparison gathers of right elements, one after the other. Held in registers: nothing but add() touches it.
struct Gathered {
  ErrorSums s;
  double worst = 0;

  void add(double mine, double want, double size, double bound) {
    const double error = mine - want, off = std::abs(error);
    // Divided only where it is the largest so far.
    if (off > worst * bound && bound > 0) worst = off / bound;
    s.error2 += error * error;
    s.reference2 += want * want;
    s.got2 += mine * mine;
    s.dot += mine * want;
    s.magnitude2 += size * size;
    s.magnitude4 += size * size * size * size;
    s.error += error;
    s.magnitude += size;
    s.weighted += size * std::abs(want);
    ++s.count;
  }
};

// Elements that are wrong, the first of them told.
class Wrong {
 public:
  Wrong(const TensorSpec& spec, const Buffer& got, const Buffer& reference)
      : spec_(spec), got_(got), reference_(reference) {}

  void add(int64_t i, Verdict verdict, double bound) {
    // A non-finite value goes before any other wrong one.
    const bool first_of_kind = at_.empty() || (verdict == Verdict::not_finite && finite_);
    if (verdict == Verdict::not_finite) finite_ = false;
    at_.push_back(i);
    if (!first_of_kind) return;
    first_ = Failure{.fault = finite_ ? Fault::wrong_value : Fault::non_finite,
                     .tensor = spec_.name,
                     .index = index_text(i, spec_.dims),
                     .expected = element_text(spec_, reference_, i, true),
                     .got = element_text(spec_, got_, i, false),
                     .bound = is_integer(spec_.element) ? "" : digits(bound)};
  }

  std::optional<Failure> failure() {
    if (first_) first_->note = describe_wrong(at_, spec_.dims);
    return std::move(first_);
  }

 private:
  const TensorSpec& spec_;
  const Buffer& got_;
  const Buffer& reference_;
  std::vector<int64_t> at_;
  std::optional<Failure> first_;
  bool finite_ = true;
};

// Tensors that must have the reference's bits.
void compare_bits(const TensorSpec& spec, const Buffer& got, const Buffer& reference,
                  const Tolerance& tolerance, bool may_be_nan, Wrong& wrong) {
  if (spec.element != Element::f32 && got.bytes() > 0 &&
      std::memcmp(got.data(), reference.data(), size_t(got.bytes())) == 0)
    return;  // as nearly always
  const Element wide = spec.element == Element::f32 ? Element::f64 : spec.element;
  for (int64_t i = 0, n = volume(spec.dims); i < n; ++i) {
    if (same_bits(spec, got, reference, i)) continue;
    const double mine = load(spec.element, got.data(), i), want = load(wide, reference.data(), i);
    // NaN is NaN, whichever bits it has: what converts it may set some.
    if (may_be_nan && spec.element == Element::f32 && std::isnan(mine) && std::isnan(want)) continue;
    if (tolerance.zeros_alike && mine == 0 && want == 0) continue;
    wrong.add(i, std::isfinite(mine) ? Verdict::wrong : Verdict::not_finite, 0);
  }
}

// Tensors that may err: mine(i), want(i) and magnitude(i) are the element, the reference's and what bounds its error.
void compare_values(int64_t n, const Tolerance& tolerance, double most, bool may_be_nan, auto&& mine_at,
                    auto&& want_at, auto&& size_at, Wrong& wrong, Comparison& result) {
  Gathered gathered;
  for (int64_t i = 0; i < n; ++i) {
    const double mine = mine_at(i), want = want_at(i), size = size_at(i);
    const double bound = tolerance.bound(size, want);
    // Finite and within the bound is nearly always so. Where the bound is not finite, judge() knows what that means.
    if (!(std::abs(mine - want) <= bound && bound <= std::numeric_limits<double>::max())) {
      const Verdict verdict = judge(mine, want, bound, most, may_be_nan);
      if (verdict != Verdict::right) wrong.add(i, verdict, bound);
      if (verdict != Verdict::right || !std::isfinite(mine)) continue;
    }
    gathered.add(mine, want, size, bound);
  }
  result.worst = gathered.worst;
  result.sums = gathered.s;
}

}  // namespace

Comparison compare(const TensorSpec& spec, const Buffer& got, const Buffer& reference,
                   const Buffer& magnitude, const Tolerance& tolerance, bool may_be_nan) {
  Comparison result;
  Wrong wrong(spec, got, reference);
  const int64_t n = volume(spec.dims);
  const double most = largest(spec.element);
  if (tolerance.exact) {
    compare_bits(spec, got, reference, tolerance, may_be_nan, wrong);
  } else if (spec.element == Element::f32) {  // the usual type without a call for each element
    const float* mine = got.as<float>();
    const double *want = reference.as<double>(), *size = magnitude.as<double>();
    compare_values(
        n, tolerance, most, may_be_nan, [=](int64_t i) { return double(mine[i]); },
        [=](int64_t i) { return want[i]; }, [=](int64_t i) { return size[i]; }, wrong, result);
  } else {
    const auto of = [&](const Buffer& from) {
      return [&from, element = spec.element](int64_t i) { return load(element, from.data(), i); };
    };
    compare_values(n, tolerance, most, may_be_nan, of(got), of(reference), of(magnitude), wrong, result);
  }
  result.failure = wrong.failure();
  return result;
}

std::string index_text(int64_t flat, const Dims& dims) {
  std::string text;
  for (size_t d = dims.size(); d-- > 0;) {
    text = std::to_string(flat % dims[d]) + (text.empty() ? "" : "," + text);
    flat /= dims[d];
  }
  return "[" + text + "]";
}

std::string element_text(const TensorSpec& spec, const Buffer& buffer, int64_t i, bool reference) {
  if (spec.element == Element::i64) return std::to_string(buffer.as<int64_t>()[i]);
  const Element element = reference && spec.element == Element::f32 ? Element::f64 : spec.element;
  const double value = load(element, buffer.data(), i);
  return is_integer(element) ? std::to_string(int64_t(value)) : digits(value);
}

std::string digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace klab
