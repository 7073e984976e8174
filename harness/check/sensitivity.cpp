#include "harness/check/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "harness/check/cases.h"
#include "harness/check/judge_output.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr int kDraws = 8, kDrawsOfSmall = 16;
constexpr double kSmall = 1e5;  // of work: there are few samples to tell a mean by
// Fewest outputs where some changes are far larger than others: with huge inputs a logistic function is a step, and some draw must
// meet it.
constexpr int64_t kFewestOfHuge = 256;
constexpr double kEven = 4;  // the largest change over their root mean square, where nothing jumps

/// The element's inputs, each times 1 + u·t.
void change(const std::vector<TensorSpec>& specs, double u, Generator& random, Tensors& x) {
  std::uniform_real_distribution<double> part(-u, u);
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].role != Role::input || specs[k].element != Element::f32) continue;
    for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) x[k].as<double>()[i] *= 1 + part(random);
  }
}

}  // namespace

bool is_eight_bits(const Numerics& numerics) { return bits_of(numerics.unit) == 8; }

Sensitivity::Sensitivity(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs,
                         std::span<const Given> givens, Unit unit)
    : where_(shape_text(op, shape)), specs_(specs) {
  const int draws = work(op, shape) < kSmall ? kDrawsOfSmall : kDraws;
  for (const Given& given : givens) {
    if (given.pattern != Pattern::random && given.pattern != Pattern::huge) continue;
    Generator random(uint64_t(cases_.size()) + 1);
    Case one{&given, {}};
    for (int draw = 0; draw < draws; ++draw) {
      Tensors x(specs, Tensors::View::reference), magnitude(specs, Tensors::View::reference);
      copy_given(specs, given.inputs, x);
      poison_outputs(specs, x);
      change(specs, unit_roundoff(unit), random, x);
      for (size_t k = 0; k < specs.size(); ++k)
        std::fill_n(magnitude[k].as<char>(), magnitude[k].bytes(), char(0));
      op.reference(shape, x.pointers(), magnitude.pointers());
      size_t output = 0;
      for (size_t k = 0; k < specs.size(); ++k) {
        if (specs[k].role == Role::input) continue;
        one.of_outputs.resize(std::max(one.of_outputs.size(), ++output));
        if (specs[k].element != Element::f32) continue;
        Change& c = one.of_outputs[output - 1];
        double squares = 0;
        for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) {
          const double moved = std::abs(x[k].as<double>()[i] - given.reference[k].as<double>()[i]);
          squares += moved * moved;
          c.most = std::max(c.most, moved);
        }
        c.squares += squares / draws;
        c.largest = std::max(c.largest, std::sqrt(squares));
      }
    }
    cases_.push_back(std::move(one));
  }
}

std::optional<Failure> Sensitivity::judge(const Given& given, const std::vector<Comparison>& outputs,
                                          double terms, Fault fault) const {
  const auto found = std::ranges::find(cases_, &given, &Case::given);
  if (found == cases_.end()) return std::nullopt;
  size_t output = 0;
  for (const TensorSpec& spec : specs_) {
    if (spec.role == Role::input) continue;
    const size_t at = output++;
    if (spec.element != Element::f32) continue;
    const ErrorSums& s = outputs[at].sums;
    const Change& c = found->of_outputs[at];
    if (s.count == 0) continue;
    const bool jumps = !(c.most <= kEven * std::sqrt(c.squares / double(s.count)));
    if (given.pattern == Pattern::huge && jumps && s.count < kFewestOfHuge) continue;
    const double usual = std::sqrt(c.squares), error = std::sqrt(s.error2),
                 limit = 2 * usual + 4 * (c.largest - usual) + 2 * c.most +
                         l2_limit(s, tolerance({.growth = Growth::linear}, terms, true, Element::f32));
    if (error <= limit) continue;
    const double norm = s.reference2 > 0 ? std::sqrt(s.reference2) : 1;
    return Failure{.fault = fault,
                   .tensor = spec.name,
                   .expected = "0",
                   .got = digits(error / norm),
                   .bound = digits(limit / norm),
                   .inputs = where_ + ", " + name_of(given.pattern) + " inputs",
                   .note = "relative L2 error: more than eight bits of each factor explain"};
  }
  return std::nullopt;
}

}  // namespace klab
