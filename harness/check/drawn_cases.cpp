#include "harness/check/drawn_cases.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "harness/check/covering.h"
#include "harness/check/detectors.h"
#include "harness/check/supported_shapes.h"
#include "harness/check/trial.h"
#include "harness/check/turns.h"
#include "harness/core/element.h"
#include "reference/boundaries.h"

namespace klab {
namespace {

std::vector<const StatedBoundary*> boundaries_of(const Op& op) {
  std::vector<const StatedBoundary*> list;
  for (const StatedBoundary& b : boundaries())
    if (b.op == op.name) list.push_back(&b);
  return list;
}

/// Returns why the boundary cannot be counted, "" if it can.
std::string broken_text(const StatedBoundary& b, const Op& op, const std::vector<TensorSpec>& specs) {
  if (b.sides == 0 || b.of.empty()) return "it names no side or nothing that it concerns";
  for (const std::string& name : b.of) {
    const bool known = std::ranges::find(op.dims, name) != op.dims.end() ||
                       std::ranges::find(specs, name, &TensorSpec::name) != specs.end();
    if (known) continue;
    std::vector<std::string> names = op.dims;
    for (const TensorSpec& spec : specs) names.push_back(spec.name);
    return fmt::format("it concerns \"{}\", which {} has not; it has {}", name, op.name,
                       fmt::join(names, ", "));
  }
  for (const StatedBoundary* other : boundaries_of(op))
    if (other != &b && other->name == b.name) return "two boundaries have this name";
  return "";
}

void add(unsigned met, int64_t (&cases)[5]) {
  for (size_t side = 0; side < 5; ++side) cases[side] += met >> side & 1;
}

unsigned missing(unsigned wanted, const int64_t (&cases)[5]) {
  unsigned list = 0;
  for (size_t side = 0; side < 5; ++side)
    if ((wanted >> side & 1) != 0 && cases[side] == 0) list |= 1U << side;
  return list;
}

/// Classifies the numbers of inputs that callers set freely: every op has these boundaries.
struct FreeInput {
  size_t tensor;
  BoundaryCount sign, minus_zero;
};

std::vector<FreeInput> free_inputs(const Op& op, const std::vector<TensorSpec>& specs) {
  std::vector<FreeInput> list;
  if (op.arrange) return list;  // rules of the contract may exclude any number
  for (size_t k = 0; k < specs.size(); ++k) {
    const TensorSpec& spec = specs[k];
    if (spec.role == Role::output || spec.draw != Draw::real) continue;
    FreeInput one{.tensor = k, .sign = {.name = "sign", .of = spec.name}, .minus_zero = {}};
    const bool is_unsigned = spec.element == Element::u8 || spec.element == Element::u32;
    one.sign.wanted = is_unsigned ? kOn | kAbove : kThreeSides;
    one.minus_zero = {
        .name = "-0", .of = spec.name, .wanted = is_integer(spec.element) ? 0U : unsigned{kHolds}};
    list.push_back(std::move(one));
  }
  return list;
}

/// Returns the sides of the sign and of -0 that the tensor's elements lie on.
std::pair<unsigned, unsigned> classify(const TensorSpec& spec, const void* data) {
  Sides sign, minus_zero;
  for (int64_t i = 0, n = volume(spec.dims); i < n; ++i) {
    const double value = load(spec.element, data, i);
    sign.compare(value, 0);
    if (value == 0 && std::signbit(value)) minus_zero.holds(true);
  }
  return {sign.met(), minus_zero.met()};
}

/// Counts over all cases of one check.
class Counter {
 public:
  Counter(const LabOp& op, std::span<const Variant* const> variants, const CheckOptions& options)
      : op_(op), variants_(variants), options_(options), stated_(boundaries_of(op.op)) {}

  BoundaryCounts count() {
    const ShapesOfCheck list = shapes_in_order(op_, variants_, options_);
    if (list.shapes.empty()) return {};
    const auto specs = op_.op.tensors(list.shapes.front());
    for (const StatedBoundary* b : stated_) {
      counts_.boundaries.push_back({.name = b->name,
                                    .of = fmt::format("{}", fmt::join(b->of, ", ")),
                                    .wanted = b->sides,
                                    .broken = broken_text(*b, op_.op, specs)});
      answered_ = answered_ || b->answered;
    }
    free_ = free_inputs(op_.op, specs);
    for (const Variant* v : variants_)
      seen_.push_back({.of = v, .met = std::vector<unsigned>(stated_.size() + 2 * free_.size())});
    for (size_t turn = 0; turn < list.usual; ++turn) at_shape(list.shapes[turn], turn);
    std::set<int64_t> tiles;
    for (const Variant* v : variants_) tiles.insert(v->tiles.begin(), v->tiles.end());
    Covering covering = covering_of_check(op_, std::vector<int64_t>(tiles.begin(), tiles.end()),
                                          options_.seed, options_.triples);
    counts_.pairs = covering.pairs;
    counts_.pairs_left_out = std::move(covering.left_out);
    for (FreeInput& one : free_) {
      counts_.boundaries.push_back(one.sign);
      counts_.boundaries.push_back(one.minus_zero);
    }
    for (const Seen& seen : seen_) count_variant(seen);
    std::erase_if(counts_.boundaries, [](const BoundaryCount& b) { return b.wanted == 0; });
    return std::move(counts_);
  }

 private:
  /// What the cases of one variant meet.
  struct Seen {
    const Variant* of;
    int64_t cases = 0;
    std::vector<unsigned> met = {};  // by boundary: stated ones, then two for each free input
    bool now = false;                // whether it supports the present shape
  };

  void count_variant(const Seen& seen) {
    VariantCount one{.variant = seen.of->id, .cases = seen.cases, .missing = {}};
    for (size_t k = 0; seen.cases > 0 && k < counts_.boundaries.size(); ++k) {
      const BoundaryCount& b = counts_.boundaries[k];
      const unsigned sides = b.wanted & ~b.missing() & ~seen.met[k];
      if (sides != 0 && b.broken.empty()) one.missing.push_back(b.name + ": " + names_of_sides(sides));
    }
    counts_.variants.push_back(std::move(one));
  }

  void at_shape(ShapeView shape, size_t turn) {
    bool any = false;
    for (Seen& seen : seen_) {
      seen.now = seen.of->supported(shape, host_of(*seen.of)).empty();
      any = any || seen.now;
    }
    if (!any) return;
    const auto specs = op_.op.tensors(shape);
    const std::vector<Pattern> patterns = patterns_for(op_, options_, work(op_.op, shape), turn);
    Generator random = generator_of(options_, turn);
    // A quick check draws the first of these cases, too, and a second one with random inputs.
    at_case(shape, turn, specs, patterns.front(), random, true, true);
    Generator second = random;
    at_case(shape, turn, specs, Pattern::random, second, false, true);
    for (size_t k = 1; k < patterns.size(); ++k)
      at_case(shape, turn, specs, patterns[k], random, true, false);
  }

  void at_case(ShapeView shape, size_t turn, const std::vector<TensorSpec>& specs, Pattern pattern,
               Generator& random, bool usual, bool quick) {
    Tensors drawn(specs, Tensors::View::variant), seen(specs, Tensors::View::reference);
    draw_inputs(op_, shape, specs, drawn.pointers(), pattern, random, turn);
    copy_given(specs, drawn, seen);
    Tensors answer(specs, Tensors::View::reference);
    if (answered_) {
      copy_given(specs, drawn, answer);
      Tensors magnitude(specs, Tensors::View::reference);
      for (size_t k = 0; k < specs.size(); ++k)
        if (const Buffer& b = magnitude[k]; b.bytes() > 0) std::memset(b.data(), 0, size_t(b.bytes()));
      op_.op.reference(shape, answer.pointers(), magnitude.pointers());
    }
    counts_.cases += usual ? 1 : 0;
    counts_.quick_cases += quick ? 1 : 0;
    for (Seen& one : seen_) one.cases += usual && one.now ? 1 : 0;
    const auto count = [&](size_t boundary, unsigned met, BoundaryCount& of) {
      if (quick) add(met, of.quick);
      if (!usual) return;
      add(met, of.cases);
      for (Seen& one : seen_)
        if (one.now) one.met[boundary] |= met;
    };
    for (size_t k = 0; k < stated_.size(); ++k) {
      if (!counts_.boundaries[k].broken.empty()) continue;
      Sides met;
      // The reference has changed what it adds to.
      Tensors& tensors = stated_[k]->answered ? answer : seen;
      stated_[k]->classify(*stated_[k], shape, tensors.pointers(), met);
      count(k, met.met(), counts_.boundaries[k]);
    }
    for (size_t k = 0; k < free_.size(); ++k) {
      FreeInput& one = free_[k];
      const auto [sign, minus_zero] = classify(specs[one.tensor], drawn[one.tensor].data());
      count(stated_.size() + 2 * k, sign, one.sign);
      count(stated_.size() + 2 * k + 1, minus_zero, one.minus_zero);
    }
  }

  const LabOp& op_;
  std::span<const Variant* const> variants_;
  const CheckOptions& options_;
  std::vector<const StatedBoundary*> stated_;
  std::vector<FreeInput> free_;
  std::vector<Seen> seen_;
  BoundaryCounts counts_;
  bool answered_ = false;
};

}  // namespace

ShapesOfCheck shapes_in_order(const LabOp& op, std::span<const Variant* const> variants,
                              const CheckOptions& options) {
  ShapesOfCheck list;
  list.shapes = shapes_of_check(op, variants, options.shape, options.seed, &list.alignments, options.triples);
  if (options.most_shapes > 0)
    list.shapes = spread_supported(variants, list.shapes, size_t(options.most_shapes));
  if (std::ranges::any_of(variants, [](const Variant* v) { return v->backend == "cuda"; }))
    std::stable_partition(list.shapes.begin(), list.shapes.end(),
                          [&](const auto& s) { return busiest_work(op, s) <= kWatchedBelow; });
  list.usual = list.shapes.size();
  if (options.shape.empty() && options.most_shapes == 0 && !options.quick && uses(Detector::beyond_usual)) {
    auto beyond = shapes_beyond(op, options.seed);
    // The cheapest first: what a rung may cost there in all suffices for most of them.
    std::ranges::stable_sort(beyond, {}, [&](const auto& s) { return busiest_work(op, s); });
    for (auto& shape : beyond) list.shapes.push_back(std::move(shape));
  }
  return list;
}

Generator generator_of(const CheckOptions& options, size_t turn) {
  return Generator(options.seed * 1000003 + turn);
}

void draw_inputs(const LabOp& op, ShapeView shape, const std::vector<TensorSpec>& specs,
                 std::span<void* const> pointers, Pattern pattern, Generator& random, size_t turn) {
  fill(op.op, shape, specs, pointers, pattern, op.huge, random);
  if (pattern == Pattern::not_finite) plant_non_finite(specs, pointers, op.nan_in, op.infinity_in, random);
  if (pattern != Pattern::wide || turn == kAsDrawn) return;
  std::vector<const StatedBoundary*> list = boundaries_of(op.op);
  std::erase_if(list, [](const StatedBoundary* b) { return b->plant == nullptr; });
  // Shifted by one in each round, so that shapes with a period of their own meet all boundaries.
  const size_t choices = list.size() + 1, at = (turn + turn / choices) % choices;
  if (at == list.size()) return;  // as they were drawn
  const StatedBoundary& chosen = *list[at];
  chosen.plant(chosen, shape, pointers, random);
}

std::string names_of_sides(unsigned sides) {
  std::string text;
  for (size_t side = 0; side < kSideNames.size(); ++side)
    if ((sides >> side & 1) != 0) text += (text.empty() ? "" : ", ") + std::string(kSideNames[side]);
  return text;
}

unsigned BoundaryCount::missing() const { return klab::missing(wanted, cases); }
unsigned BoundaryCount::missing_if_quick() const { return klab::missing(wanted, quick); }

int BoundaryCounts::wanted() const {
  int sum = 0;
  for (const BoundaryCount& b : boundaries) sum += std::popcount(b.wanted);
  return sum;
}

int BoundaryCounts::met() const {
  int sum = 0;
  for (const BoundaryCount& b : boundaries)
    if (b.broken.empty()) sum += std::popcount(b.wanted) - std::popcount(b.missing());
  return sum;
}

BoundaryCounts count_boundaries(const LabOp& op, std::span<const Variant* const> variants,
                                const CheckOptions& options) {
  return Counter(op, variants, options).count();
}

}  // namespace klab
