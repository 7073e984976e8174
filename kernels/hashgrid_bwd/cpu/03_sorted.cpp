// hashgrid_bwd.cpu.03_sorted: contributions brought into the order of the table before they are added.
//
// CHANGE    a batch of points writes its contributions as records (entry, values) into bins, one bin a
//           region of the table; then bin after bin is added, each to a region that fits into L1 or L2.
// EXPECT    reads and writes of the table become local, for writing and reading every record once: 12 bytes
//           there and 12 back for two features against one cache line that may be missed. It pays where a
//           level is larger than every cache; where a level fits into one, as with tables of 2^19 entries,
//           it is slower than its parent.
// NUMERICS  as the parent, bit for bit: bins keep the order of the points.
// NEEDS     memory for the records of a batch, for every thread.
// TRIED     sorting within a region as well: the region is in the cache already.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

int64_t entry_of(const HashgridLevel& level, int64_t dim, const uint32_t* corner) {
  if (!level.dense) {
    uint32_t hash = 0;
    for (int64_t d = 0; d < dim; ++d) hash ^= corner[d] * kHashgridPrimes[d];
    return int64_t(hash & level.mask);
  }
  int64_t index = 0;
  for (int64_t d = dim; d-- > 0;) index = index * level.resolution + corner[d];
  return index < level.entries ? index : index - level.entries;  // at most one lap beyond the far border
}

constexpr int64_t kBatch = 1 << 14;   // points
constexpr int64_t kRegion = 1 << 12;  // entries of a bin

/// The contributions of one batch to one level: unsorted as they come, then binned.
struct Records {
  std::vector<uint32_t> entry;
  std::vector<float> value;  // [records, features]
  std::vector<uint32_t> binned_entry;
  std::vector<float> binned_value;
  std::vector<int64_t> bin;  // where a bin's next record goes

  Records(int64_t records, int64_t features, int64_t bins)
      : entry(size_t(records)),
        value(size_t(records * features)),
        binned_entry(entry.size()),
        binned_value(value.size()),
        bin(size_t(bins + 1)) {}
};

/// Contributions of points [begin, end), in order; returns how many.
int64_t collect(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x, int64_t begin,
                int64_t end, Records& r) {
  const HashgridShape& s = x.shape;
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) {
    uint32_t cell[3] = {};
    float fraction[3] = {};
    for (int64_t d = 0; d < s.dim; ++d) {
      const float p = x.positions[d * s.n + i] * level.scale + 0.5F;
      cell[d] = uint32_t(p);
      fraction[d] = p - float(cell[d]);
    }
    for (int64_t c = 0; c < int64_t(1) << s.dim; ++c, ++count) {
      uint32_t corner[3] = {};
      float weight = 1;
      for (int64_t d = 0; d < s.dim; ++d) {
        const bool upper = (c >> d & 1) != 0;
        corner[d] = cell[d] + (upper ? 1U : 0U);
        weight *= upper ? fraction[d] : 1 - fraction[d];
      }
      r.entry[size_t(count)] = uint32_t(entry_of(level, s.dim, corner));
      for (int64_t f = 0; f < s.features; ++f)
        r.value[size_t(count * s.features + f)] = weight * x.d_features[(l * s.features + f) * s.n + i];
    }
  }
  return count;
}

/// Counting sort by region; stable, so contributions to one entry keep their order.
void sort(int64_t count, int64_t features, Records& r) {
  std::fill(r.bin.begin(), r.bin.end(), 0);
  for (int64_t k = 0; k < count; ++k) ++r.bin[r.entry[size_t(k)] / kRegion + 1];
  for (size_t b = 1; b < r.bin.size(); ++b) r.bin[b] += r.bin[b - 1];
  for (int64_t k = 0; k < count; ++k) {
    const int64_t to = r.bin[r.entry[size_t(k)] / kRegion]++;
    r.binned_entry[size_t(to)] = r.entry[size_t(k)];
    for (int64_t f = 0; f < features; ++f)
      r.binned_value[size_t(to * features + f)] = r.value[size_t(k * features + f)];
  }
}

void scatter_level(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x) {
  const HashgridShape& s = x.shape;
  Records r(std::min(kBatch, s.n) << s.dim, s.features, (level.entries + kRegion - 1) / kRegion);
  float* d_table = x.d_table + level.offset * s.features;
  for (int64_t begin = 0; begin < s.n; begin += kBatch) {
    const int64_t count = collect(level, l, x, begin, std::min(begin + kBatch, s.n), r);
    sort(count, s.features, r);
    for (int64_t k = 0; k < count; ++k) {
      float* entry = d_table + int64_t(r.binned_entry[size_t(k)]) * s.features;
      for (int64_t f = 0; f < s.features; ++f) entry[f] += r.binned_value[size_t(k * s.features + f)];
    }
  }
}

void run(const HashgridBwd::Args<float>& x) {
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < x.shape.levels; ++k) {
    const int64_t l = x.shape.levels - 1 - k;
    scatter_level(levels[size_t(l)], l, x);
  }
}

KLAB_VARIANT(HashgridBwd, {.run = run, .parent = "02_level_parallel"});

}  // namespace
}  // namespace klab
