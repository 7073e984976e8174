#include "harness/check/cases.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>

#include "harness/check/covering.h"
#include "harness/check/detectors.h"
#include "harness/check/supported_shapes.h"
#include "harness/core/optional_dims.h"
#include "reference/generator.h"

namespace klab {
namespace {

using Shape = std::vector<int64_t>;

// Sizes used where a lab names none.
const std::vector<int64_t> kSizes = {0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 64, 127};

}  // namespace

std::vector<Shape> check_sizes(const LabOp& op, std::span<const int64_t> tiles) {
  std::vector<Shape> list(op.op.dims.size());
  for (size_t d = 0; d < list.size(); ++d) {
    const Shape& given = op.check.empty() ? kSizes : op.check.size() == 1 ? op.check[0] : op.check.at(d);
    std::set<int64_t> values(given.begin(), given.end());
    if (!is_parameter(op, d))
      for (const int64_t tile : tiles)
        for (const int64_t size : {tile - 1, tile, tile + 1}) values.insert(std::max<int64_t>(size, 0));
    list[d].assign(values.begin(), values.end());
  }
  return list;
}

namespace {

class Chooser {
 public:
  Chooser(const LabOp& op, std::vector<Shape> sizes, uint64_t seed, double budget)
      : op_(op), sizes_(std::move(sizes)), seed_(seed), random_(seed), budget_(budget) {
    for (const Shape& s : sizes_) wanted_ += s.size();
  }

  std::vector<Shape> choose(std::span<const int64_t> tiles, ShapeAlignments* alignments, bool all_triples) {
    for (size_t d = 0; d < sizes_.size(); ++d)
      for (size_t k = 0; k < sizes_[d].size(); ++k) {
        with(d, sizes_[d][k]);
        if (sizes_.size() == 1) with(d, about(d, k));
      }
    if (uses(Detector::pairs_of_conditions)) cover(tiles, alignments, all_triples);
    alike();
    round();
    unequal();
    slender();
    return std::move(shapes_);
  }

  Covering covering(std::span<const int64_t> tiles, bool all_triples) const {
    return covering_rows(op_, {.sizes = sizes_,
                               .tiles = tiles,
                               .seed = seed_,
                               .share = budget_ / double(4 * wanted_ + 8),
                               .fewest = sizes_.size() > 1 ? wanted_ : 0,
                               .all_triples = all_triples,
                               .cost = [this](const Shape& shape) { return cost(shape); }});
  }

 private:
  void cover(std::span<const int64_t> tiles, ShapeAlignments* alignments, bool all_triples) {
    const Covering conditions = covering(tiles, all_triples);
    for (const CoveringRow& row : conditions.rows) {
      add(row.shape);
      if (alignments != nullptr) alignments->emplace(row.shape, row.alignment);
    }
  }

  // The size number k of dimension d or, of dimensions that are no parameters, one of those between it and the next: what
  // goes wrong at one width in ten is on nobody's list.
  int64_t about(size_t d, size_t k) {
    const int64_t size = sizes_[d][k];
    if (is_parameter(op_, d) || k + 1 == sizes_[d].size()) return size;
    const int64_t next = sizes_[d][k + 1], between = size + int64_t(random_() % uint64_t(next - size));
    // Now and then one that a reciprocal in float does not divide by: 41·(1/41) is less than 1.
    if (random_() % 2 == 0)
      for (int64_t s = between; s < std::min(next, between + 32); ++s)
        if (s > 0 && float(s) * (1.0F / float(s)) < 1) return s;
    return between;
  }

  double cost(const Shape& shape) const {
    const double most = op_.check_flops * 1.0001;
    if (!op_.op.valid(shape)) return -1;
    const double w = work(op_.op, shape);
    return w <= most ? w : -1;
  }

  bool add(const Shape& shape) {
    const double w = cost(shape);
    if (!(w >= 0) || !seen_.insert(shape).second) return false;
    spent_ += w;
    shapes_.push_back(shape);
    return true;
  }

  // A shape whose dimension d is `size`: the first of some random ones that costs no more than its share, now
  // and then a large one; where all cost more, the cheapest.
  void with(size_t d, int64_t size) {
    const bool large = ++calls_ % 16 == 0 && spent_ < budget_;
    const double share = large ? std::min(op_.check_flops, budget_ / 8) : budget_ / double(4 * wanted_ + 8);
    Shape best;
    double best_cost = -1;
    for (int attempt = 0; attempt < 48; ++attempt) {
      Shape shape(sizes_.size());
      // After a while only the smaller sizes are drawn, so that an expensive one still finds a partner.
      for (size_t e = 0; e < shape.size(); ++e) {
        const size_t choices = std::max<size_t>(2, sizes_[e].size() >> (attempt / 12));
        const size_t k = random_() % std::min(choices, sizes_[e].size());
        shape[e] = e == d ? size : random_() % 2 == 0 ? about(e, k) : sizes_[e][k];
      }
      const double w = cost(shape);
      if (!(w >= 0) || seen_.contains(shape)) continue;
      // Empty shapes are wanted, but not instead of all others.
      if (is_empty(op_, shape) && size != 0 && attempt < 36) continue;
      if (best_cost < 0 || w < best_cost) {
        best = shape;
        best_cost = w;
      }
      if (w <= share) break;
    }
    if (best_cost >= 0) add(best);
  }

  void alike() {
    const double share = budget_ / 16;
    for (const int64_t size : sizes_[0]) {
      const Shape shape(sizes_.size(), size);
      if (cost(shape) <= share) add(shape);
    }
  }

  // All sizes multiples of 8, 16 or 32: where kernels take the way without edges, which few of the shapes above are on that
  // are cheap enough for every pattern.
  void round() {
    const double share = budget_ / 32;
    for (const int64_t side : {8, 16, 32})
      for (const int64_t most : {1, 3}) {
        Shape shape(sizes_.size());
        for (int attempt = 0; attempt < 16; ++attempt) {
          for (size_t e = 0; e < shape.size(); ++e) {
            const bool listed = is_parameter(op_, e) || op_.op.dims[e].starts_with("log2_");
            const auto factor = int64_t(1 + random_() % uint64_t(most));
            shape[e] = listed ? sizes_[e][random_() % sizes_[e].size()] : side * factor;
          }
          const double w = cost(shape);
          if (w >= 0 && w <= share && add(shape)) break;
        }
      }
  }

  // One dimension as large as its share allows, the others 1 or the smallest legal, and the other way round.
  void unequal() {
    const double share = budget_ / 16;
    for (size_t d = 0; d < sizes_.size() && sizes_.size() > 1; ++d)
      for (const bool high : {true, false}) {
        Shape shape(sizes_.size());
        for (size_t e = 0; e < shape.size(); ++e) {
          const auto one = std::ranges::lower_bound(sizes_[e], 1);
          shape[e] = one == sizes_[e].end() ? sizes_[e].back() : *one;
        }
        for (size_t e = 0; e < shape.size(); ++e) {
          if ((e == d) != high) continue;
          for (const int64_t size : sizes_[e]) {
            const int64_t before = shape[e];
            shape[e] = size;
            const double w = cost(shape);
            if (size < before || !(w >= 0 && w <= share)) shape[e] = before;
          }
        }
        add(shape);
      }
  }

  // One dimension at or about each of its larger sizes, the others among the smallest: a ray of a hundred samples, a row of a
  // thousand. At the largest size alone the bound of a long sum hides small errors.
  void slender() {
    for (size_t d = 0; d < sizes_.size() && sizes_.size() > 1; ++d) {
      if (is_parameter(op_, d)) continue;
      for (size_t k = sizes_[d].size() / 2; k < sizes_[d].size(); ++k)
        for (const uint64_t least : {2, 8})  // of the others: the smallest two sizes, or the smallest eight
          for (int attempt = 0; attempt < 4; ++attempt) {
            Shape shape(sizes_.size());
            for (size_t e = 0; e < shape.size(); ++e) {
              const auto one = std::ranges::lower_bound(sizes_[e], 1);
              const auto choices = uint64_t(sizes_[e].end() - one);
              shape[e] = choices == 0 ? sizes_[e].back() : one[int64_t(random_() % std::min(choices, least))];
            }
            shape[d] = about(d, k);
            const double w = cost(shape);
            if (w >= 0 && w <= budget_ / 32 && add(shape)) break;
          }
    }
  }

  const LabOp& op_;
  std::vector<Shape> sizes_;
  uint64_t seed_;
  Generator random_;
  double budget_;
  size_t wanted_ = 0;
  size_t calls_ = 0;
  double spent_ = 0;
  std::set<Shape> seen_;
  std::vector<Shape> shapes_;
};

}  // namespace

namespace {

// The sizes of shapes_beyond(), one above (below, for powers of two that are a limit themselves) what is taken for granted.
constexpr int64_t kBeyondBlocks =
    65535 * 32 + 33;  // of 32 rows or elements each; of the first dimension only
constexpr int64_t kBeyond[] = {(int64_t(1) << 31) + 11,
                               (int64_t(1) << 31) - 64,
                               kBeyondBlocks,
                               (1 << 20) + 1,
                               (1 << 16) + 1,
                               1 << 12,
                               1025,
                               512,
                               257,
                               256};
constexpr int64_t kBeyondShort = (1 << 16) + 1;
constexpr double kMostElements = 3.2e6, kMostWork = 5e7;  // of such a shape

bool affordable(const LabOp& op, const Shape& shape) {
  if (!op.op.valid(shape) || !(work(op.op, shape) <= std::min(kMostWork, op.check_flops))) return false;
  double elements = 0;
  for (const TensorSpec& spec : op.op.tensors(shape)) {
    double count = 1;
    for (const int64_t d : spec.dims) count *= double(d);
    elements = std::max(elements, count);
  }
  return elements <= kMostElements;
}

}  // namespace

std::vector<Shape> shapes_beyond(const LabOp& op, uint64_t seed) {
  if (!op.beyond.empty()) return op.beyond;
  const std::vector<Shape> usual = check_sizes(op, {});
  Generator random(seed);
  std::vector<Shape> shapes;
  // The other dimensions take one of the smallest sizes that the lab has.
  const auto with = [&](size_t d, int64_t size) {
    for (int attempt = 0; attempt < 24; ++attempt) {
      Shape shape(usual.size(), 0);
      for (size_t e = 0; e < shape.size(); ++e) {
        const auto first = std::ranges::upper_bound(usual[e], 0);
        const auto choices = uint64_t(usual[e].end() - first);
        const uint64_t most = attempt < 8 ? 4 : attempt < 16 ? 2 : 1;
        shape[e] = choices == 0 ? 0 : first[int64_t(random() % std::min(choices, most))];
      }
      shape[d] = size;
      if (!affordable(op, shape) || !(work(op.op, shape) > 0)) continue;
      if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(std::move(shape));
      return true;
    }
    return false;
  };
  // Where a contract asks for multiples, the next one.
  const auto legal = [&](size_t d, int64_t size) {
    constexpr int64_t kMultiple = 16;
    Shape shape;
    for (const std::vector<int64_t>& sizes : usual) {
      const auto first = std::ranges::upper_bound(sizes, 0);
      shape.push_back(first == sizes.end() ? 0 : *first);
    }
    shape[d] = size;
    if (op.op.valid(shape)) return size;
    shape[d] = (size + kMultiple - 1) / kMultiple * kMultiple;
    return op.op.valid(shape) ? shape[d] : size;
  };
  for (size_t d = 0; d < usual.size(); ++d) {
    if (is_parameter(op, d)) continue;
    const int64_t known = usual[d].empty() ? 0 : usual[d].back();
    if (op.op.dims[d].starts_with("log2_")) {
      for (int64_t log2 = 22; log2 > known && !with(d, log2);) --log2;
      continue;
    }
    bool found = false;
    for (const int64_t size : kBeyond)
      if (size > known && (d == 0 || size != kBeyondBlocks) && with(d, legal(d, size))) {
        found = size > kBeyondShort;
        break;
      }
    if (found && known < kBeyondShort) with(d, legal(d, kBeyondShort));
  }
  return shapes;
}

double work(const Op& op, ShapeView shape) {
  const Cost cost = op.cost(shape);
  return std::max(cost.flops, cost.bytes / 4);
}

bool is_parameter(const LabOp& op, size_t dimension) {
  return std::ranges::find(op.parameters, op.op.dims[dimension]) != op.parameters.end();
}

bool is_empty(const LabOp& op, ShapeView shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 0 && !is_parameter(op, d)) return true;
  return false;
}

bool is_round(const LabOp& op, ShapeView shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (!is_parameter(op, d) && (shape[d] == 0 || shape[d] % 4 != 0)) return false;
  return true;
}

double busiest_work(const LabOp& op, ShapeView shape) {
  const double least = work(op.op, shape);
  return op.busiest == nullptr ? least : std::max(least, op.busiest(shape));
}

Shape shrunk(const Op& op, Shape shape, double most, const std::function<double(ShapeView)>& cost) {
  const auto smaller = [&]() -> Shape {
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::stable_sort(order, std::greater(), [&](size_t d) { return shape[d]; });
    for (const size_t d : order) {
      Shape less = shape;
      if (op.dims[d].starts_with("log2_"))
        --less[d];
      else
        less[d] = less[d] / 2 | (less[d] > 1 && less[d] % 2 == 1 ? 1 : 0);
      if (op.valid(less) && cost(less) > 0 && cost(less) < 0.9 * cost(shape)) return less;
    }
    return {};
  };
  while (cost(shape) > most) {
    Shape less = smaller();
    if (less.empty()) break;
    shape = std::move(less);
  }
  return shape;
}

std::vector<Shape> check_shapes(const LabOp& op, std::span<const int64_t> tiles, uint64_t seed, double budget,
                                ShapeAlignments* alignments, bool all_triples) {
  return Chooser(op, check_sizes(op, tiles), seed, budget).choose(tiles, alignments, all_triples);
}

Covering covering_of_check(const LabOp& op, std::span<const int64_t> tiles, uint64_t seed, bool all_triples) {
  return Chooser(op, check_sizes(op, tiles), seed, kBudget).covering(tiles, all_triples);
}

namespace {

/// Sets optional dimensions to 0 in three of four shapes that have others: few variants take those, and the rest would be left with
/// a part of the shapes.
void thin_optional(const Op& op, std::vector<Shape>& shapes, ShapeAlignments* alignments) {
  constexpr int kKept = 4;
  const size_t fewest = fewest_dims(op);
  int others = 0;
  std::set<Shape> seen;
  std::vector<Shape> thinned;
  for (Shape& shape : shapes) {
    const auto optional = std::span(shape).subspan(fewest);
    if (std::ranges::any_of(optional, [](int64_t size) { return size != 0; }) && others++ % kKept != 0) {
      const Shape before = shape;
      std::ranges::fill(optional, 0);
      if (alignments != nullptr && alignments->contains(before))
        alignments->emplace(shape, alignments->at(before));
    }
    if (seen.insert(shape).second) thinned.push_back(std::move(shape));
  }
  shapes = std::move(thinned);
}

}  // namespace

std::vector<Shape> shapes_of_check(const LabOp& op, std::span<const Variant* const> variants,
                                   std::span<const int64_t> asked, uint64_t seed, ShapeAlignments* alignments,
                                   bool all_triples) {
  if (asked.empty()) {
    std::set<int64_t> tiles;
    for (const Variant* v : variants) tiles.insert(v->tiles.begin(), v->tiles.end());
    auto shapes = check_shapes(op, Shape(tiles.begin(), tiles.end()), seed, kBudget, alignments, all_triples);
    thin_optional(op.op, shapes, alignments);
    add_supported_shapes(op, variants, seed, shapes);
    return shapes;
  }
  if (!fits_dims(op.op, asked.size())) {
    std::string names;
    for (const std::string& dim : op.op.dims) names += (names.empty() ? "" : ",") + dim;
    throw std::invalid_argument(op.op.name + " has " + std::to_string(op.op.dims.size()) + " dimensions (" +
                                names + "), got " + std::to_string(asked.size()));
  }
  if (!op.op.valid(asked))
    throw std::invalid_argument(shape_text(op.op, asked) + " is not a legal shape of " + op.op.name);
  return {with_all_dims(op.op, asked)};
}

std::vector<Shape> spread_over(const std::vector<Shape>& list, size_t most) {
  if (list.size() <= most || most == 0) return list;
  std::vector<Shape> picked;
  for (size_t i = 0; i < most; ++i)
    picked.push_back(list[most == 1 ? 0 : i * (list.size() - 1) / (most - 1)]);
  return picked;
}

std::string size_text(const LabOp& op, ShapeView shape) {
  for (const BenchShape& b : op.bench)
    if (std::ranges::equal(shortest(op.op, b.shape), shortest(op.op, shape))) return '"' + b.name + '"';
  return shape_text(op.op, shape);
}

std::string shape_text(const Op& op, ShapeView shape) {
  std::string text;
  shape = shortest(op, shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d) text += ' ';
    text += op.dims[d] + "=" + std::to_string(shape[d]);
  }
  return text;
}

}  // namespace klab
