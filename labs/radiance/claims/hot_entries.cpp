// Experiment hot_entries: compares a software cache of hot entries in front of the hash table with the
// processor's caches.
//
// The reads are those of a batch of a training, on the finest level, corner by corner. The software cache is
// direct-mapped, with a tag and a copy of the entry in each place: the cheapest kind there is. Prefetching
// and LRU lists cost more than its tag.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "harness/timing/machine.h"
#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/field/table.h"
#include "labs/radiance/run/lru.h"
#include "reference/hashtable_fwd/table_layout.h"

namespace klab::learning::hot_entries_claim {
namespace {

const Claim kFaster{.id = "hot_entries.faster",
                    .said = "a cache of hot features in front of the table makes reading faster",
                    .source = "plan",
                    .metric = "time of a read plainly over that through a cache in software",
                    .rule = at_least(1.03),
                    .kind = ClaimKind::timed};

constexpr int64_t kPlaces = 2048;     // of the software cache
constexpr int64_t kFeatures = 2;      // of an entry
constexpr int64_t kEntriesALine = 8;  // in 64 bytes
constexpr int kRounds = 7;

/// Returns the entries that are read, one corner after the other.
std::vector<uint32_t> reads_of(const TableLevel& level, const std::vector<float>& positions) {
  const auto n = positions.size() / 3;
  std::vector<uint32_t> reads;
  reads.reserve(8 * n);
  for (size_t i = 0; i < n; ++i)
    for (uint32_t corner = 0; corner < 8; ++corner) {
      uint32_t at[3];
      for (size_t d = 0; d < 3; ++d)
        at[d] = uint32_t(positions[d * n + i] * level.scale + 0.5F) + (corner >> d & 1);
      reads.push_back(table_index(level, hash_kind("primes"), at[0], at[1], at[2]));
    }
  return reads;
}

float plainly(const std::vector<uint32_t>& reads, const float* table) {
  float sum = 0;
  for (const uint32_t e : reads) sum += table[kFeatures * e] + table[kFeatures * e + 1];
  return sum;
}

struct Place {
  uint32_t tag;
  std::array<float, kFeatures> entry;
};

float through_cache(const std::vector<uint32_t>& reads, const float* table, std::vector<Place>& places) {
  float sum = 0;
  for (const uint32_t e : reads) {
    Place& place = places[(e * 2654435761U) >> 21];
    if (place.tag != e) place = {e, {table[kFeatures * e], table[kFeatures * e + 1]}};
    sum += place.entry[0] + place.entry[1];
  }
  return sum;
}

/// Bytes of the first and the second cache by the machine record, or as most processors have them.
std::array<int64_t, 2> first_caches() {
  const int64_t first = cache_bytes(this_machine(), 1), second = cache_bytes(this_machine(), 2);
  return {first > 0 ? first : 32 << 10, second > 0 ? second : 1 << 20};
}

struct Reads {
  std::vector<uint32_t> entries;
  std::vector<float> table;  // of the level
};

/// Returns the reads of the recipe's table after some steps.
Reads trained_reads(uint64_t seed) {
  Config c = small_hash_config();
  c.log2_table = 18;
  c.levels = 16;
  c.finest_resolution = 512;
  c.batch_samples = 8192;
  Trainer trainer(small_built_in_scene(), c, small_hash_plan(c), seed);
  train_for(trainer, {.most = 100});
  const std::vector<float> positions = trainer.batch_positions();
  const Model& model = trainer.model();
  const TableLevel level = table_levels(c.levels, model.scales.data(), model.sizes.data()).back();
  const float* from = model.of(Part::table).data() + level.offset * kFeatures;
  return {reads_of(level, positions), {from, from + int64_t(level.entries) * kFeatures}};
}

Outcome run(uint64_t seed) {
  const OneThread one;
  Outcome out;
  out.heads = {"cache", "bytes", "has of the reads"};
  const Reads r = trained_reads(seed);
  const auto [first, second] = first_caches();
  std::vector<uint32_t> lines;
  for (const uint32_t e : r.entries) lines.push_back(e / uint32_t(kEntriesALine));
  const std::vector<double> by_line = lru_hit_shares(lines, std::vector<int64_t>{first / 64, second / 64}),
                            by_entry = lru_hit_shares(r.entries, std::vector<int64_t>{kPlaces});
  out.rows = {
      {"LRU of entries, in software", fmt::format("{}", kPlaces * int64_t(sizeof(Place))),
       percent_text(by_entry[0])},
      {"LRU of lines, as large as the first cache", fmt::format("{}", first), percent_text(by_line[0])},
      {"LRU of lines, as large as the second cache", fmt::format("{}", second), percent_text(by_line[1])}};
  float sums[3] = {};
  std::vector<Place> places(kPlaces, Place{0xFFFFFFFFU, {}});
  std::vector<uint32_t> hot(r.entries.size());  // as many reads, all within the first cache's size
  for (size_t i = 0; i < hot.size(); ++i) hot[i] = uint32_t(i * 5 % size_t(first / 64 * kEntriesALine / 2));
  const std::vector<double> seconds =
      least_seconds({[&] { sums[0] = plainly(r.entries, r.table.data()); },
                     [&] { sums[1] = through_cache(r.entries, r.table.data(), places); },
                     [&] { sums[2] = plainly(hot, r.table.data()); }},
                    kRounds);
  if (sums[0] != sums[1]) throw std::logic_error("a cache changed what was read");
  const CacheCounts counts = count_cache([&] { sums[2] = plainly(r.entries, r.table.data()); });
  if (counts.refused.empty())
    out.rows.push_back(
        {"this processor's first cache, by its counters", fmt::format("{}", first),
         percent_text(1 - double(counts.l1_misses) / double(std::max<int64_t>(1, counts.loads)))});
  const auto ns = [&](double s) { return 1e9 * s / double(r.entries.size()); };
  out.decided.push_back(decide(
      kFaster, seconds[0] / seconds[1],
      fmt::format("an LRU of {} entries would have {} of the finest level's reads, one of lines as large as "
                  "the first cache {}, as "
                  "the second {}; a read takes {:.2f} ns plainly, {:.2f} ns through a cache in software, "
                  "{:.2f} ns where the first "
                  "cache has all; {}",
                  kPlaces, percent_text(by_entry[0]), percent_text(by_line[0]), percent_text(by_line[1]),
                  ns(seconds[0]), ns(seconds[1]), ns(seconds[2]),
                  counts.refused.empty()
                      ? fmt::format("this processor's first cache had {} of the loads",
                                    percent_text(1 - double(counts.l1_misses) /
                                                         double(std::max<int64_t>(1, counts.loads))))
                      : "the processor's counters cannot be read here: " + counts.refused)));
  return out;
}

const ExperimentRegistrar registrar({"hot_entries",
                                     "a cache of hot entries against what the processor's caches have",
                                     run,
                                     nullptr,
                                     {kFaster}});

}  // namespace
}  // namespace klab::learning::hot_entries_claim
