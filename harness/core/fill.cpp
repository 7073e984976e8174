#include "harness/core/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/core/element.h"
#include "reference/generator.h"

namespace klab {
namespace {

// The tensor and element for which a value is drawn.
struct Place {
  const Dims& dims;
  size_t tensor;
  int64_t index;
  double scale;              // used by Pattern::wide
  double upper[2] = {1, 1};  // additional scale of the upper half of the first and of the last dimension
  std::span<const int64_t> few = {};  // the elements that are not zero, of Pattern::sparse

  // Returns the scale of an element in a tensor whose rows and columns differ by orders of magnitude.
  // Algorithms that mix them, like Strassen's product, lose the small ones in the rounding errors of the
  // large ones.
  double graded() const {
    if (dims.empty() || volume(dims) == 0) return scale;
    const int64_t last = dims.back(), inner = volume(dims) / dims.front();
    return scale * (index / inner >= (dims.front() + 1) / 2 ? upper[0] : 1) *
           (index % last >= (last + 1) / 2 ? upper[1] : 1);
  }

  // Returns (-1)^(sum of indices): a checkerboard alternates along every dimension, so sums cancel along any
  // of them.
  double checkerboard() const {
    int64_t rest = index, sum = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      sum += rest % dims[d];
      rest /= dims[d];
    }
    return sum % 2 ? -1.0 : 1.0;
  }
};

// Where the numbers of Pattern::sparse lie: the last element, one at or about a border of 2^16, one in the last 2^16, and any.
std::array<int64_t, 4> few_places(int64_t n, Generator& g) {
  constexpr int64_t kBorder = 1 << 16;
  const auto any = [&](int64_t count) { return int64_t(g() % uint64_t(std::max<int64_t>(count, 1))); };
  const int64_t border = kBorder * (1 + any((n - 1) / kBorder)) - int64_t(g() % 3);
  return {n - 1, std::min(border, n - 1), n - 1 - any(std::min(n, kBorder)), any(n)};
}

double normal(Generator& g) { return std::normal_distribution<double>()(g); }
double uniform(Generator& g) { return std::uniform_real_distribution<double>()(g); }

// Draws a value. Tensors at even and odd positions differ: if both factors of a product were denormal or
// alternating, all products would vanish or have the same sign.
double draw_real(Pattern pattern, double huge, const Place& at, Generator& g) {
  const bool first = at.tensor % 2 == 0;
  switch (pattern) {
    case Pattern::random:
      return normal(g);
    case Pattern::constant:
      return 0.1 * double(1 + at.tensor);
    case Pattern::cancelling:
      return (first ? at.checkerboard() : 1.0) * (1000.0 + 1e-3 * normal(g));
    case Pattern::denormal: {
      if (first || g() % 2) return 1e-39 * normal(g);
      // Small enough that a sum does not amplify an earlier underflow, which the bound does not cover.
      return (2 * uniform(g) - 1) / std::sqrt(double(volume(at.dims)));
    }
    case Pattern::huge:
      return huge * (2 * uniform(g) - 1);
    case Pattern::wide:
      return g() % 16 == 0 ? (g() % 2 ? 0.0 : -0.0) : at.graded() * normal(g);
    case Pattern::not_finite:
      return normal(g);
    case Pattern::sparse:
      if (!first) return normal(g);
      if (std::ranges::find(at.few, at.index) == at.few.end()) return 0;
      return (g() % 2 ? 1.0 : -1.0) * double(1 + g() % 9);
    case Pattern::ones:
      return g() % 2 ? 1 : -1;
  }
  return 0;
}

constexpr double kBelowOne = 0x1.fffffep-1;  // the largest float below 1

double draw_unit(Pattern pattern, const Place& at, Generator& g) {
  switch (pattern) {
    case Pattern::random:
    case Pattern::wide:
    case Pattern::not_finite:
    case Pattern::sparse:
    case Pattern::ones:
      return std::min(uniform(g), kBelowOne);
    case Pattern::constant:
      return std::min(0.3 + 0.1 * double(at.tensor), kBelowOne);
    case Pattern::cancelling: {
      const uint64_t cells = uint64_t{1} << g() % 12;
      return double(g() % cells) / double(cells);
    }
    case Pattern::denormal: {
      constexpr double choices[] = {0.0, 1e-40, 0x1p-126, 0x1p-24, 0x1p-12};
      return choices[g() % 5];
    }
    case Pattern::huge: {
      constexpr double choices[] = {0.0, 0.5, 1 - 0x1p-22, 1 - 0x1p-23, kBelowOne};
      return choices[g() % 5];
    }
  }
  return 0;
}

double draw_integer(Element element, Pattern pattern, Generator& g) {
  const double high = std::min(largest(element), 1000.0);
  const double low = element == Element::u8 || element == Element::u32 ? 0 : -high;
  switch (pattern) {
    case Pattern::constant:
      return 1;
    case Pattern::denormal:
      return double(g() % 2);
    case Pattern::huge:
      return g() % 2 ? high : low;
    default:
      return std::floor(low + (high - low + 1) * uniform(g));
  }
}

}  // namespace

const char* name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::random:
      return "random";
    case Pattern::constant:
      return "constant";
    case Pattern::cancelling:
      return "cancelling";
    case Pattern::denormal:
      return "denormal";
    case Pattern::huge:
      return "huge";
    case Pattern::wide:
      return "wide";
    case Pattern::not_finite:
      return "not finite";
    case Pattern::sparse:
      return "sparse";
    case Pattern::ones:
      return "whole";
  }
  return "?";
}

void fill(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs,
          std::span<void* const> pointers, Pattern pattern, double huge, Generator& random) {
  for (size_t k = 0; k < specs.size(); ++k) {
    const TensorSpec& spec = specs[k];
    if (spec.role == Role::output) continue;
    const int64_t n = volume(spec.dims);
    if (spec.draw == Draw::arranged) {
      if (n > 0) std::memset(pointers[k], 0, size_t(n * size_of(spec.element)));
      continue;
    }
    const double limit = largest(spec.element);
    // A power of two from 1/1024 to 1024.
    const bool wide = pattern == Pattern::wide;
    const double scale = wide ? std::ldexp(1.0, int(random() % 21) - 10) : 1;
    // Half of the time both halves of a dimension have the same scale.
    double upper[2];
    for (double& half : upper) half = wide && random() % 2 ? std::ldexp(1.0, -int(random() % 25)) : 1;
    std::array<int64_t, 4> few{};
    if (pattern == Pattern::sparse && n > 0) few = few_places(n, random);
    for (int64_t i = 0; i < n; ++i) {
      const Place at{spec.dims, k, i, scale, {upper[0], upper[1]}, few};
      const double value = is_integer(spec.element)  ? draw_integer(spec.element, pattern, random)
                           : spec.draw == Draw::unit ? draw_unit(pattern, at, random)
                                                     : draw_real(pattern, huge, at, random);
      store(spec.element, pointers[k], i, std::clamp(value, -limit, limit));
    }
  }
  if (!op.arrange) return;
  random.widely = pattern == Pattern::wide;
  op.arrange(shape, pointers, random);
  random.widely = false;
}

void plant_non_finite(const std::vector<TensorSpec>& specs, std::span<void* const> pointers,
                      std::span<const std::string> nan, std::span<const std::string> infinite,
                      Generator& random) {
  const bool with_zeros = random() % 2 != 0;
  for (size_t k = 0; k < specs.size(); ++k) {
    const bool takes_nan = std::ranges::find(nan, specs[k].name) != nan.end();
    const bool takes_infinity = std::ranges::find(infinite, specs[k].name) != infinite.end();
    const int64_t n = volume(specs[k].dims);
    if (n == 0 || !(takes_nan || takes_infinity)) continue;
    for (int64_t i = 0; with_zeros && takes_infinity && i < n; ++i)
      if (random() % 4 == 0) store(specs[k].element, pointers[k], i, random() % 2 ? 0.0 : -0.0);
    for (int64_t count = 1 + int64_t(random() % uint64_t(1 + n / 64)); count > 0; --count) {
      const bool infinity = takes_infinity && (!takes_nan || random() % 2);
      const double value = infinity ? (random() % 2 ? 1 : -1) * std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::quiet_NaN();
      store(specs[k].element, pointers[k], int64_t(random() % uint64_t(n)), value);
    }
  }
}

void copy_given(const std::vector<TensorSpec>& specs, const Tensors& from, Tensors& to) {
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].role == Role::output || from[k].bytes() == 0) continue;
    if (from[k].bytes() == to[k].bytes()) {
      std::memcpy(to[k].data(), from[k].data(), size_t(from[k].bytes()));
    } else {
      std::copy_n(from[k].as<float>(), volume(specs[k].dims), to[k].as<double>());
    }
  }
}

void poison_outputs(const std::vector<TensorSpec>& specs, Tensors& tensors) {
  for (size_t k = 0; k < specs.size(); ++k)
    if (specs[k].role == Role::output) tensors[k].poison();
}

}  // namespace klab
