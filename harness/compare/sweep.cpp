#include "harness/compare/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

#include "harness/core/optional_dims.h"

namespace klab {
namespace {

constexpr size_t kFewestSizes = 4;
constexpr int64_t kMostExtent = int64_t(1) << 40;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw std::invalid_argument(fmt::format(
      "--sweep {}: {}; write it as n=2^10..2^24, size=64..1024, m=100,200,400 or threads=1..8", text, why));
}

int64_t number_of(const std::string& part, const std::string& text) {
  const auto whole = [&](const std::string& digits) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > kMostExtent)
      refuse(text, fmt::format("'{}' is no whole number from 1 to {}", part, kMostExtent));
    return value;
  };
  const size_t power = part.find('^');
  if (power == std::string::npos) return whole(part);
  const int64_t base = whole(part.substr(0, power)), exponent = whole(part.substr(power + 1));
  const double value = std::pow(double(base), double(exponent));
  if (!(value <= double(kMostExtent))) refuse(text, fmt::format("'{}' is too large", part));
  return int64_t(std::llround(value));
}

/// Returns the work as the contract counts it: in one unit for all sizes, whichever resource binds at each.
double work_of(const Row& r, bool flops) { return flops ? r.flops : r.bytes; }

/// Returns whether work is counted in FLOP: if multiply-adds bind at one of the sizes, or there are no bytes.
bool counts_flops(const std::vector<const Row*>& rows) {
  const auto any = [&](auto&& is) { return std::ranges::any_of(rows, is); };
  if (any([](const Row* r) { return !(r->bytes > 0); })) return true;
  return any([](const Row* r) { return r->ceiling.starts_with("fma"); });
}

}  // namespace

Sweep parse_sweep(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse(text, "names no dimension");
  Sweep sweep{text.substr(0, equals), {}};
  const std::string values = text.substr(equals + 1);
  if (const size_t dots = values.find(".."); dots != std::string::npos) {
    const int64_t first = number_of(values.substr(0, dots), text),
                  last = number_of(values.substr(dots + 2), text);
    if (last < first) refuse(text, "ends before it begins");
    for (int64_t v = first; v < last; v *= 2) sweep.values.push_back(v);
    sweep.values.push_back(last);
  } else {
    for (size_t begin = 0; begin <= values.size();) {
      const size_t end = std::min(values.find(',', begin), values.size());
      sweep.values.push_back(number_of(values.substr(begin, end - begin), text));
      begin = end + 1;
    }
    std::sort(sweep.values.begin(), sweep.values.end());
    sweep.values.erase(std::unique(sweep.values.begin(), sweep.values.end()), sweep.values.end());
  }
  return sweep;
}

std::vector<BenchShape> shapes_of(const Sweep& sweep, const Op& op, const BenchShape& base) {
  BenchShape whole = base;
  whole.shape = with_all_dims(op, base.shape);
  std::vector<size_t> dimensions;
  for (size_t d = 0; d < op.dims.size(); ++d)
    if (sweep.dimension == "size" ? whole.shape[d] == whole.shape[0] : op.dims[d] == sweep.dimension)
      dimensions.push_back(d);
  if (dimensions.empty()) {
    std::string names;
    for (const std::string& d : op.dims) names += d + ", ";
    throw std::invalid_argument(fmt::format("--sweep: {} has no dimension '{}'; it has {}size and threads",
                                            op.name, sweep.dimension, names));
  }
  std::vector<BenchShape> shapes;
  for (const int64_t value : sweep.values) {
    BenchShape shape = whole;
    for (const size_t d : dimensions) shape.shape[d] = value;
    if (!op.valid(shape.shape) || !(op.cost(shape.shape).bytes > 0)) continue;
    shape.name = fmt::format("{}={}", sweep.dimension, value);
    shapes.push_back(shape);
  }
  if (shapes.empty())
    throw std::invalid_argument(
        fmt::format("--sweep: no value of '{}' gives a legal shape of {}", sweep.dimension, op.name));
  return shapes;
}

std::optional<double> theil_sen(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> slopes;
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = i + 1; j < x.size(); ++j)
      if (x[i] != x[j]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
  if (slopes.empty()) return std::nullopt;
  return median(slopes);
}

std::vector<CostGrowth> growth_of(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<const Row*>> series;
  std::vector<std::string> order;
  for (const Row& r : rows) {
    if (r.seconds.empty() || !(r.bytes > 0 || r.flops > 0)) continue;
    auto& list = series[fmt::format("{}|{}", r.variant, r.threads)];
    if (list.empty()) order.push_back(fmt::format("{}|{}", r.variant, r.threads));
    list.push_back(&r);
  }
  std::vector<CostGrowth> result;
  for (const std::string& key : order) {
    const auto& list = series[key];
    if (list.size() < kFewestSizes) continue;
    std::vector<double> work, time, distance;
    const bool flops = counts_flops(list);
    if (std::ranges::any_of(list, [&](const Row* r) { return !(work_of(*r, flops) > 0); })) continue;
    for (const Row* r : list) {
      work.push_back(std::log(work_of(*r, flops)));
      time.push_back(std::log(r->time.value));
      distance.push_back(r->of_ceiling ? -std::log(r->of_ceiling->value) : time.back() - work.back());
    }
    const auto exponent = theil_sen(work, time), excess = theil_sen(work, distance);
    if (!exponent || !excess) continue;
    result.push_back({list.front()->variant, int(list.size()), *exponent, *excess,
                      *excess > kGrowthMargin && *exponent > 1 + kGrowthMargin});
  }
  return result;
}

std::vector<Scaling> scaling_of(const std::vector<Row>& rows) {
  std::map<std::string, std::map<int, const Row*>> series;
  std::vector<std::string> order;
  for (const Row& r : rows) {
    if (r.seconds.empty()) continue;
    auto& list = series[r.variant + "|" + r.shape];
    if (list.empty()) order.push_back(r.variant + "|" + r.shape);
    list[r.threads] = &r;
  }
  std::vector<Scaling> result;
  for (const std::string& key : order) {
    const auto& list = series[key];
    if (list.size() < 2) continue;
    Scaling s{list.begin()->second->variant, list.begin()->second->shape, {}};
    for (const auto& [threads, row] : list)
      s.speedups.emplace_back(threads, list.begin()->second->time.value / row->time.value);
    result.push_back(std::move(s));
  }
  return result;
}

}  // namespace klab
