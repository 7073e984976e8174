// Experiment latencies: how long a load takes that waits for the one before it, by the size of the memory it reads from, the order
// of the addresses and the size of the pages. The quoted times are compared with it, and with the factors quoted next to them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/timing/machine.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/learning/experiments/pointer_chase.h"

namespace klab::learning::latencies_experiment {
namespace {

// As quoted, in nanoseconds, with the factors that are quoted with them.
constexpr double kQuotedFirst = 0.5, kQuotedSecond = 7, kQuotedMemory = 200;
constexpr double kSecondOverFirst = 14, kMemoryOverSecond = 20, kMemoryOverFirst = 200;
constexpr const char* kLevels[] = {"second cache over first", "memory over second cache",
                                   "memory over first cache"};

/// A quoted time holds if it is right within a factor of two.
Claim quoted_time(const std::string& name, const std::string& said, const std::string& from, double ns) {
  return {.id = "latencies." + name,
          .said = said,
          .source = "course",
          .metric = "ns of a load from " + from,
          .rule = between(ns / 2, 2 * ns),
          .kind = ClaimKind::timed};
}

const Claim kFirst = quoted_time("first_cache", "a load from the first cache takes 0.5 ns",
                                 "half of the first cache", kQuotedFirst);
const Claim kSecond = quoted_time("second_cache", "a load from the second cache takes 7 ns",
                                  "half of the second cache", kQuotedSecond);
const Claim kMemory =
    quoted_time("memory", "a load from memory takes 200 ns", "memory in random order", kQuotedMemory);
const Claim kFactors{
    .id = "latencies.quoted_factors",
    .said =
        "with 0.5, 7 and 200 ns the second cache takes 14 times as long as the first, memory 20 "
        "times as long as the second cache and 200 times as long as the first",
    .source = "course",
    .metric = "factor that the quoted times give over the quoted factor",
    .rule = between(0.99, 1.01),
    .kind = ClaimKind::exact,
    .on = "the two levels"};
const Claim kMeasured{
    .id = "latencies.factors",
    .said =
        "the second cache takes 14 times as long as the first, memory 20 times as long as the "
        "second cache and 200 times as long as the first",
    .source = "course",
    .metric = "measured factor over the quoted one",
    .rule = between(0.5, 2),
    .kind = ClaimKind::timed,
    .on = "the two levels"};
const Claim kOrder{
    .id = "latencies.order",
    .said = "the hardware fetches ahead where addresses ascend, which hides the latency of memory",
    .source = "course",
    .metric = "time of a load from memory in random order over that in order of addresses",
    .rule = at_least(4),
    .kind = ClaimKind::timed};
const Claim kPages{.id = "latencies.huge_pages",
                   .said = "huge pages shorten loads from memory, since they need fewer entries of the TLB",
                   .source = "course",
                   .metric = "time of a load with usual pages over that where huge ones are asked for",
                   .rule = at_least(1.1),
                   .kind = ClaimKind::timed};

struct Sizes {
  int64_t first, second, largest;
};

/// Returns the caches by the machine record, or as most processors have them, and a size that no cache holds.
Sizes sizes_of(const Machine& machine) {
  const int64_t first = cache_bytes(machine, 1), second = cache_bytes(machine, 2);
  int64_t largest = 64 << 20;
  while (largest < 4 * last_level_bytes(machine) && largest < 1 << 30) largest *= 2;
  while (largest > 16 << 20 && 4 * largest > free_memory()) largest /= 2;
  return {first > 0 ? first : 32 << 10, second > 0 ? second : 1 << 20, largest};
}

std::string bytes_text(int64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{} MB", bytes >> 20) : fmt::format("{} KB", bytes >> 10);
}

/// One way to go through memory: a curve.
struct Way {
  const char* name;
  PointerChase::Order order;
  int64_t stride;
  bool huge_pages;
};
constexpr auto kAscending = PointerChase::Order::ascending, kRandom = PointerChase::Order::random;
constexpr std::array kWays = {
    Way{"random order, usual pages", kRandom, 64, false}, Way{"random order, huge pages", kRandom, 64, true},
    Way{"ascending by 64 B", kAscending, 64, false}, Way{"ascending by 256 B", kAscending, 256, false},
    Way{"ascending by 4096 B", kAscending, 4096, false}};

PointerChase chase(const Way& way, int64_t bytes, uint64_t seed) {
  return PointerChase(
      {.bytes = bytes, .stride = way.stride, .order = way.order, .huge_pages = way.huge_pages, .seed = seed});
}

double ns_at(const Way& way, int64_t bytes, uint64_t seed) { return chase(way, bytes, seed).nanoseconds(); }

std::string huge_text(int64_t bytes, uint64_t seed) {
  const std::optional<double> share = chase(kWays[1], bytes, seed).huge_share();
  return share ? fmt::format("this system gives huge pages for {} of the memory", percent_text(*share))
               : "this system does not tell how much of the memory lies in huge pages, and has them set to " +
                     this_machine().huge_pages;
}

void draw(Outcome& out, const Sizes& sizes, uint64_t seed) {
  for (const Way& way : kWays) out.curves.push_back({way.name, {}});
  for (int64_t bytes = 4 << 10; bytes <= sizes.largest; bytes *= 2) {
    std::vector<std::string> row = {bytes_text(bytes)};
    for (size_t i = 0; i < kWays.size(); ++i) {
      if (bytes / kWays[i].stride < 2) {
        row.emplace_back("-");
        continue;
      }
      out.curves[i].points.emplace_back(bytes, ns_at(kWays[i], bytes, seed));
      row.push_back(fmt::format("{:.2f}", out.curves[i].points.back().second));
    }
    out.rows.push_back(row);
  }
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"memory"},
              .x = "bytes that the chain visits",
              .y = "ns of a load",
              .log_x = true,
              .log_y = true};
  for (const Way& way : kWays) out.heads.emplace_back(way.name);
  const Sizes sizes = sizes_of(this_machine());
  draw(out, sizes, seed);
  const double first = ns_at(kWays[0], sizes.first / 2, seed),
               second = ns_at(kWays[0], sizes.second / 2, seed);
  const auto last = [&](size_t way) { return out.curves[way].points.back().second; };
  const double memory = last(0);
  const auto decide_time = [&](const Claim& claim, double ns, int64_t bytes) {
    out.decided.push_back(decide(claim, ns, fmt::format("{:.2f} ns in {}", ns, bytes_text(bytes))));
  };
  decide_time(kFirst, first, sizes.first / 2);
  decide_time(kSecond, second, sizes.second / 2);
  decide_time(kMemory, memory, sizes.largest);
  const double quoted[] = {kQuotedSecond / kQuotedFirst, kQuotedMemory / kQuotedSecond,
                           kQuotedMemory / kQuotedFirst},
               factors[] = {kSecondOverFirst, kMemoryOverSecond, kMemoryOverFirst},
               found[] = {second / first, memory / second, memory / first};
  std::vector<ClaimRow> by_quotes, by_measurement;
  for (size_t i = 0; i < 3; ++i) {
    by_quotes.push_back({kLevels[i], {quoted[i] / factors[i]}});
    by_measurement.push_back({kLevels[i], {found[i] / factors[i]}});
  }
  out.decided.push_back(
      decide(kFactors, by_quotes,
             fmt::format("{} over {} ns is {:.0f}, {} over {} ns is {:.1f}, {} over {} ns is {:.0f}",
                         kQuotedSecond, kQuotedFirst, quoted[0], kQuotedMemory, kQuotedSecond, quoted[1],
                         kQuotedMemory, kQuotedFirst, quoted[2])));
  out.decided.push_back(
      decide(kMeasured, by_measurement,
             fmt::format("the second cache takes {:.1f} times as long as the first, memory {:.1f} "
                         "times as long as the second cache and {:.0f} times as long as the first",
                         found[0], found[1], found[2])));
  out.decided.push_back(
      decide(kOrder, memory / last(2),
             fmt::format("a load from {} takes {:.1f} ns in random order, {:.1f} ns from line to "
                         "line and {:.1f} ns from every fourth to the next",
                         bytes_text(sizes.largest), memory, last(2), last(3))));
  out.decided.push_back(
      decide(kPages, memory / last(1),
             fmt::format("{:.1f} ns with usual pages, {:.1f} ns where huge ones are asked for; {}", memory,
                         last(1), huge_text(sizes.largest, seed))));
  return out;
}

const ExperimentRegistrar registrar({"latencies",
                                     "Loads that wait for each other, by size of the memory, order and pages",
                                     run,
                                     nullptr,
                                     {kFirst, kSecond, kMemory, kFactors, kMeasured, kOrder, kPages}});

}  // namespace
}  // namespace klab::learning::latencies_experiment
