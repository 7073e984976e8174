#include "labs/radiance/field/table.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"

namespace klab {
namespace {

constexpr int64_t kLeast = 1 << 9;  // fewest entries of a level of an adaptive table

/// Returns the initial entries of a level of an adaptive table. A level that is dense with at most four times
/// as many entries is dense from the beginning and stays so: it costs little, and its points share no
/// entries.
int64_t first_entries(const Config& c) {
  return std::max(kLeast, (int64_t(1) << c.log2_table) / c.table_begin / 8 * 8);
}

bool stays_dense(const Config& c, const HashgridLevel& level) {
  return level.dense && level.entries <= 4 * std::max(kLeast, (int64_t(1) << c.log2_table) / 16);
}

template <size_t count>
int64_t place_of(const std::array<std::string_view, count>& names, std::string_view name) {
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) throw std::invalid_argument("the hash table has no \"" + std::string(name) + "\"");
  return at - names.begin();
}

std::vector<HashgridLevel> levels_of(const Config& c, int cascades) {
  return hashgrid_levels(hash_shape(c, cascades, 0));
}

int64_t sum_of(const std::vector<int64_t>& sizes) {
  int64_t sum = 0;
  for (const int64_t size : sizes) sum += size;
  return sum;
}

}  // namespace

bool has_plain_table(const Config& c) {
  return c.hash == "primes" && c.interpolation == "linear" && !has_adaptive_table(c);
}

int64_t hash_kind(std::string_view hash) {
  return place_of(std::array<std::string_view, 4>{"primes", "morton", "pcg", "tiled"}, hash);
}

int64_t blend_kind(std::string_view interpolation) {
  return place_of(std::array<std::string_view, 3>{"linear", "nearest", "smoothstep"}, interpolation);
}

HashgridShape hash_shape(const Config& c, int cascades, int64_t n) {
  return {.n = n,
          .dim = 3,
          .levels = c.levels,
          .features = c.features,
          .log2_table = c.log2_table,
          .base = c.base_resolution,
          .finest = c.finest_resolution << (cascades - 1),
          .coherent = 1};
}

HashtableShape table_shape(const Config& c, int cascades, int64_t n) {
  return {.n = n,
          .levels = c.levels,
          .features = c.features,
          .entries = table_room(c, cascades),
          .hash = hash_kind(c.hash),
          .blend = blend_kind(c.interpolation),
          .coherent = 1};
}

HashtableNarrowFwd::Shape narrow_table_shape(const Config& c, int cascades, int64_t n, int64_t format) {
  const HashtableShape s = table_shape(c, cascades, n);
  return {s.n, s.levels, s.features, s.entries, s.hash, s.blend, s.coherent, format};
}

std::vector<float> table_scales(const Config& c, int cascades) {
  std::vector<float> scales;
  for (const HashgridLevel& level : levels_of(c, cascades)) scales.push_back(level.scale);
  return scales;
}

std::vector<int64_t> table_sizes(const Config& c, int cascades) {
  std::vector<int64_t> sizes;
  for (const HashgridLevel& level : levels_of(c, cascades))
    sizes.push_back(has_adaptive_table(c) && !stays_dense(c, level)
                        ? std::min(level.entries, first_entries(c))
                        : level.entries);
  return sizes;
}

std::vector<int64_t> largest_table_sizes(const Config& c, int cascades) {
  std::vector<int64_t> sizes;
  for (const HashgridLevel& level : levels_of(c, cascades)) {
    const int64_t points = level.resolution * level.resolution * level.resolution;
    sizes.push_back(stays_dense(c, level) || !level.dense ? level.entries : (points - 1) / 8 * 8);
  }
  return sizes;
}

std::vector<int64_t> smallest_table_sizes(const Config& c, int cascades) {
  const std::vector<int64_t> first = table_sizes(c, cascades), most = largest_table_sizes(c, cascades);
  std::vector<int64_t> sizes;
  for (size_t l = 0; l < first.size(); ++l)
    sizes.push_back(first[l] == most[l] ? first[l] : std::min(first[l], kLeast));
  return sizes;
}

int64_t table_room(const Config& c, int cascades) {
  const int64_t fixed = hashgrid_entries(levels_of(c, cascades));
  if (!has_adaptive_table(c)) return fixed;
  const int64_t wanted = c.table_entries > 0 ? std::min(c.table_entries, fixed) : fixed / 2;
  return std::max(wanted / 8 * 8, sum_of(table_sizes(c, cascades)));
}

PlannedCall planned_lookup(const Config& c, int cascades, int64_t n, const std::string& what, double times,
                           int64_t narrow) {
  if (narrow >= 0)
    return planned<HashtableNarrowFwd>(narrow_table_shape(c, cascades, n, narrow), what, times);
  if (has_plain_table(c)) return planned<HashgridFwd>(hash_shape(c, cascades, n), what, times);
  return planned<HashtableFwd>(table_shape(c, cascades, n), what, times);
}

}  // namespace klab
