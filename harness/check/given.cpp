#include "harness/check/given.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "harness/check/cases.h"
#include "harness/check/drawn_cases.h"
#include "harness/core/element.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr double kVisible =
    1e-4;  // of the magnitude: float arithmetic errs by less, and what changes less is no test
constexpr int kTries = 4;
constexpr int kLooks = 8;  // elements, of which the largest is changed

/// Another number of the same sign and about the same size, so that no kink lies between: activations stay active,
/// coordinates in their range.
float other_than(float value) { return std::abs(value) < 0.5F ? 2 * value : value / 2; }

/// An element with another value of the same sign, or `at` where a few tries find none: what keeps activations active must survive.
int64_t another(const float* values, int64_t n, int64_t at, Generator& random) {
  for (int look = 0; look < kLooks; ++look)
    if (const auto other = int64_t(random() % uint64_t(n));
        values[other] != values[at] && std::signbit(values[other]) == std::signbit(values[at]))
      return other;
  return at;
}

bool visible(const std::vector<TensorSpec>& specs, const Given& was, const Given& is) {
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].role == Role::input) continue;
    const Element wide = specs[k].element == Element::f32 ? Element::f64 : specs[k].element;
    for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) {
      const double before = load(wide, was.reference[k].data(), i),
                   now = load(wide, is.reference[k].data(), i);
      const double size = is_integer(wide) ? 0 : load(wide, is.magnitude[k].data(), i);
      if (std::abs(now - before) > kVisible * size) return true;
    }
  }
  return false;
}

}  // namespace

Given make_given(const LabOp& op, ShapeView shape, const std::vector<TensorSpec>& specs, Pattern pattern,
                 Generator& random, size_t turn) {
  Given given{pattern, Tensors(specs, Tensors::View::variant), Tensors(specs, Tensors::View::reference),
              Tensors(specs, Tensors::View::reference)};
  draw_inputs(op, shape, specs, given.inputs.pointers(), pattern, random, turn);
  poison_outputs(specs, given.inputs);
  answer(op.op, shape, specs, given);
  return given;
}

void answer(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs, Given& given) {
  copy_given(specs, given.inputs, given.reference);
  poison_outputs(specs, given.reference);
  for (size_t k = 0; k < specs.size(); ++k)
    if (const Buffer& b = given.magnitude[k]; b.bytes() > 0) std::memset(b.data(), 0, size_t(b.bytes()));
  op.reference(shape, given.reference.pointers(), given.magnitude.pointers());
}

bool is_free(const TensorSpec& spec, const std::vector<TensorSpec>& specs) {
  if (spec.role != Role::input || spec.draw == Draw::arranged || spec.element != Element::f32 ||
      volume(spec.dims) == 0)
    return false;
  return std::ranges::none_of(
      specs, [&](const TensorSpec& other) { return other.optional && other.name.starts_with(spec.name); });
}

// A variant that keeps its answer from call to call, and compares a few elements to know whether it may, takes the changed
// inputs for the same.
std::optional<Changed> change_one(const LabOp& op, ShapeView shape, const std::vector<TensorSpec>& specs,
                                  const Given& given, Generator& random) {
  std::vector<size_t> free;
  for (size_t k = 0; k < specs.size(); ++k)
    if (is_free(specs[k], specs)) free.push_back(k);
  if (free.empty()) return std::nullopt;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const size_t k = free[random() % free.size()];
    const auto n = uint64_t(volume(specs[k].dims));
    const float* values = given.inputs[k].as<float>();
    int64_t at = int64_t(random() % n);
    for (int look = 1; look < kLooks; ++look)
      if (const auto other = int64_t(random() % n); std::abs(values[other]) > std::abs(values[at]))
        at = other;
    if (values[at] == 0) continue;
    Changed changed{{given.pattern, Tensors(specs, Tensors::View::variant),
                     Tensors(specs, Tensors::View::reference), Tensors(specs, Tensors::View::reference)},
                    specs[k].name + index_text(at, specs[k].dims)};
    copy_given(specs, given.inputs, changed.given.inputs);
    poison_outputs(specs, changed.given.inputs);
    float* now = changed.given.inputs[k].as<float>();
    // Every second time it changes places with another one: sums and exclusive ors over all elements do not tell.
    const int64_t other = random() % 2 ? another(values, int64_t(n), at, random) : at;
    if (other != at) {
      std::swap(now[at], now[other]);
      changed.what += " and " + index_text(other, specs[k].dims);
    } else {
      now[at] = other_than(now[at]);
    }
    answer(op.op, shape, specs, changed.given);
    if (visible(specs, given, changed.given)) return changed;
  }
  return std::nullopt;
}

std::vector<std::vector<char>> bytes_of_outputs(const std::vector<TensorSpec>& specs,
                                                const Tensors& tensors) {
  std::vector<std::vector<char>> list;
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].role == Role::input) continue;
    const char* begin = tensors[k].as<char>();
    list.emplace_back(begin, begin + tensors[k].bytes());
  }
  return list;
}

}  // namespace klab
