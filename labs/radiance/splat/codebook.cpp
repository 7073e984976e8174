#include "labs/radiance/splat/codebook.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace klab {
namespace {

constexpr int kLloydSteps = 30;

/// Splits rows until each stretch is one group.
class RowSplitter {
 public:
  RowSplitter(std::span<const float> table, int64_t columns, RowGroups& out)
      : table_(table), columns_(columns), out_(out), order_(table.size() / size_t(columns)) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  void split_all(int64_t groups) { split(0, int64_t(order_.size()), groups); }

 private:
  float value(int32_t row, int64_t column) const { return table_[size_t(row * columns_ + column)]; }
  void split(int64_t first, int64_t last, int64_t groups) {
    if (groups == 1) return close(first, last);
    const int64_t column = widest(first, last), left = groups / 2;
    const int64_t middle =
        first + std::clamp((last - first) * left / groups, left, last - first - (groups - left));
    std::nth_element(order_.begin() + first, order_.begin() + middle, order_.begin() + last,
                     [&](int32_t a, int32_t b) { return value(a, column) < value(b, column); });
    split(first, middle, left);
    split(middle, last, groups - left);
  }
  int64_t widest(int64_t first, int64_t last) const {
    int64_t best = 0;
    double most = -1;
    for (int64_t c = 0; c < columns_; ++c) {
      double sum = 0, squares = 0;
      for (int64_t i = first; i < last; ++i) {
        const double v = value(order_[size_t(i)], c);
        sum += v, squares += v * v;
      }
      const double variance = squares - sum * sum / double(last - first);
      if (variance > most) most = variance, best = c;
    }
    return best;
  }
  void close(int64_t first, int64_t last) {
    std::vector<double> sums(size_t(columns_), 0);
    for (int64_t i = first; i < last; ++i) {
      const int32_t row = order_[size_t(i)];
      out_.group[size_t(row)] = int32_t(out_.count);
      for (int64_t c = 0; c < columns_; ++c) sums[size_t(c)] += value(row, c);
    }
    for (const double sum : sums) out_.means.push_back(float(sum / double(last - first)));
    ++out_.count;
  }

  std::span<const float> table_;
  int64_t columns_;
  RowGroups& out_;
  std::vector<int32_t> order_;
};

}  // namespace

uint8_t Codebook::nearest(float number) const {
  const auto above = std::lower_bound(values.begin(), values.end(), number);
  if (above == values.begin()) return 0;
  if (above == values.end()) return uint8_t(values.size() - 1);
  const auto below = above - 1;
  return uint8_t((number - *below <= *above - number ? below : above) - values.begin());
}

Codebook Codebook::of(std::vector<float> numbers) {
  if (numbers.empty()) throw std::invalid_argument("no numbers to choose the values of a codebook from");
  std::ranges::sort(numbers);
  Codebook out;
  constexpr size_t k = 256;
  std::vector<float> different = numbers;
  different.erase(std::unique(different.begin(), different.end()), different.end());
  if (different.size() <= k) {
    out.values.fill(different.back());
    std::ranges::copy(different, out.values.begin());
    return out;
  }
  const size_t n = numbers.size();
  std::vector<double> sums(n + 1, 0);  // of those before
  for (size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + numbers[i];
  for (size_t i = 0; i < k; ++i) {
    const double share = (double(i) + 0.5) / double(k);
    const double even = numbers.front() + share * (double(numbers.back()) - numbers.front());
    out.values[i] = float((even + numbers[size_t(share * double(n))]) / 2);
  }
  for (int step = 0; step < kLloydSteps; ++step) {
    size_t first = 0;
    const std::array<float, k> before = out.values;
    for (size_t i = 0; i < k; ++i) {
      const size_t last =
          i + 1 == k
              ? n
              : size_t(std::ranges::upper_bound(numbers, (before[i] + before[i + 1]) / 2) - numbers.begin());
      if (last > first) out.values[i] = float((sums[last] - sums[first]) / double(last - first));
      first = std::max(first, last);
    }
  }
  std::ranges::sort(out.values);
  return out;
}

RowGroups grouped_rows(std::span<const float> table, int64_t columns, int64_t most) {
  const auto rows = int64_t(table.size()) / columns;
  RowGroups out;
  out.group.resize(size_t(rows));
  if (rows <= most) {
    out.count = rows;
    std::iota(out.group.begin(), out.group.end(), 0);
    out.means.assign(table.begin(), table.end());
    return out;
  }
  RowSplitter(table, columns, out).split_all(most);
  return out;
}

}  // namespace klab
