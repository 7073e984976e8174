#include "harness/check/covering.h"

#include <algorithm>
#include <array>
#include <set>

#include "harness/check/cases.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr int64_t kVector = 16;  // elements, of the widest vectors in use
constexpr int64_t kLargestTile = 64;
const char* const kLevelNames[] = {"a multiple", "one more", "one less", "a multiple of 4 only", "odd"};
const char* const kAlignmentNames[] = {"off by odd numbers", "off by vectors", "off in part"};

/// A combination of levels: of two factors or of three.
struct Choice {
  size_t factor, level;
  friend auto operator<=>(const Choice&, const Choice&) = default;
};
using Combination = std::vector<Choice>;

struct Factor {
  std::string name;
  std::vector<std::string> levels;            // names
  std::vector<std::vector<int64_t>> choices;  // values of each level; none of the alignment
};

class Rows {
 public:
  Rows(const LabOp& op, const CoveringOptions& options) : op_(op), options_(options), random_(options.seed) {
    for (size_t d = 0; d < options.sizes.size(); ++d) factors_.push_back(factor_of(d));
    factors_.push_back({"pointers", {std::begin(kAlignmentNames), std::end(kAlignmentNames)}, {}});
  }

  Covering make() {
    for (const Combination& pair : combinations(2)) wanted_.insert(pair);
    const std::set<Combination> all = wanted_;
    cover();
    // What is left is not possible, and what contains it neither.
    for (const Combination& pair : wanted_) covering_.left_out.push_back(text_of(pair));
    covering_.pairs = all.size() - wanted_.size();
    wanted_ = triples();
    cover();
    const std::vector<Combination> more = combinations(3);
    for (size_t tries = 0; tries < 2 * options_.fewest && !more.empty(); ++tries) {
      if (covering_.rows.size() >= options_.fewest) break;
      wanted_ = {more[random_() % more.size()]};
      cover();
    }
    return std::move(covering_);
  }

 private:
  using Levels = std::vector<size_t>;

  Factor factor_of(size_t d) const {
    const std::vector<int64_t>& sizes = options_.sizes[d];
    Factor factor{op_.op.dims[d], {}, {}};
    const auto add = [&](std::string name, std::vector<int64_t> values) {
      if (values.empty()) return;
      factor.levels.push_back(std::move(name));
      factor.choices.push_back(std::move(values));
    };
    // A parameter with many values is a quantity: its first, middle and last.
    if (is_parameter(op_, d) || op_.op.dims[d].starts_with("log2_")) {
      std::vector<int64_t> values = sizes;
      if (values.size() > 6) values = {sizes[0], sizes[1], sizes[sizes.size() / 2], sizes.back()};
      for (const int64_t value : values) add(std::to_string(value), {value});
      return factor;
    }
    const int64_t largest = sizes.empty() ? 0 : sizes.back();
    std::vector<int64_t> edges;
    for (int64_t k = 1; k <= 3; ++k) edges.push_back(k * kVector);
    for (const int64_t tile : options_.tiles)
      if (tile > 2 && tile <= kLargestTile && tile % kVector != 0) edges.push_back(tile);
    std::array<std::vector<int64_t>, std::size(kLevelNames)> levels;
    for (const int64_t edge : edges) {
      levels[0].push_back(edge);
      levels[1].push_back(edge + 1);
      levels[2].push_back(edge - 1);
    }
    levels[1].push_back(1);
    levels[3] = {4, 12, 20, 28, 36};
    levels[4] = {3, 5, 7, 9, 11, 13, 19, 21, 27};
    for (size_t k = 0; k < levels.size(); ++k) {
      std::erase_if(levels[k], [&](int64_t size) { return size > std::max<int64_t>(largest, 3); });
      add(kLevelNames[k], levels[k]);
    }
    if (factor.levels.empty()) add("the only one", {largest});
    return factor;
  }

  std::vector<Combination> combinations(size_t strength) const {
    std::vector<Combination> list;
    Combination current;
    const auto extend = [&](auto&& self, size_t from) -> void {
      if (current.size() == strength) return list.push_back(current);
      for (size_t f = from; f < factors_.size(); ++f)
        for (size_t l = 0; l < factors_[f].levels.size(); ++l) {
          current.push_back({f, l});
          self(self, f + 1);
          current.pop_back();
        }
    };
    extend(extend, 0);
    return list;
  }

  std::set<Combination> triples() {
    std::vector<Combination> list = combinations(3);
    if (options_.all_triples) return {list.begin(), list.end()};
    std::set<Combination> some;
    for (size_t k = 0; k < options_.triples && !list.empty(); ++k) some.insert(list[random_() % list.size()]);
    return some;
  }

  std::string text_of(const Combination& combination) const {
    std::string text;
    for (const auto& [factor, level] : combination)
      text += (text.empty() ? "" : ", ") + factors_[factor].name + " " + factors_[factor].levels[level];
    return text;
  }

  size_t newly_covered(const Levels& row) const {
    return size_t(std::ranges::count_if(wanted_, [&](const Combination& c) { return holds(row, c); }));
  }

  static bool holds(const Levels& row, const Combination& combination) {
    return std::ranges::all_of(combination, [&](const Choice& c) { return row[c.factor] == c.level; });
  }

  /// Adds rows until each wanted combination is in one, or cannot be.
  void cover() {
    std::set<Combination> impossible;
    while (!wanted_.empty()) {
      const Combination first = *wanted_.begin();
      Levels best_levels;
      CoveringRow best;
      size_t most = 0;
      double least = 0;
      int found = 0;
      for (int attempt = 0; attempt < kAttempts && found < kCandidates; ++attempt) {
        Levels levels(factors_.size());
        for (size_t f = 0; f < levels.size(); ++f) levels[f] = random_() % factors_[f].levels.size();
        for (const Choice& c : first) levels[c.factor] = c.level;
        CoveringRow row{.shape = {}, .alignment = levels.back()};
        for (size_t d = 0; d + 1 < factors_.size(); ++d) {
          const std::vector<int64_t>& choices = factors_[d].choices[levels[d]];
          // Small ones after a while, for combinations that are expensive.
          const size_t few = attempt < kAttempts / 2 ? choices.size() : 1;
          row.shape.push_back(choices[random_() % few]);
        }
        const double cost = options_.cost(row.shape);
        if (cost < 0 || (cost > options_.share && attempt < kAttempts / 2)) continue;
        ++found;
        const size_t covers = newly_covered(levels);
        if (most > 0 && (covers < most || (covers == most && cost >= least))) continue;
        best = std::move(row);
        best_levels = std::move(levels);
        most = covers;
        least = cost;
      }
      if (most == 0) {
        impossible.insert(first);
        wanted_.erase(first);
        continue;
      }
      std::erase_if(wanted_, [&](const Combination& c) { return holds(best_levels, c); });
      covering_.rows.push_back(std::move(best));
    }
    wanted_ = std::move(impossible);
  }

  static constexpr int kAttempts = 96, kCandidates = 12;

  const LabOp& op_;
  const CoveringOptions& options_;
  Generator random_;
  std::vector<Factor> factors_;
  std::set<Combination> wanted_;
  Covering covering_;
};

}  // namespace

Covering covering_rows(const LabOp& op, const CoveringOptions& options) { return Rows(op, options).make(); }

}  // namespace klab
