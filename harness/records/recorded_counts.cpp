#if defined(__GNUC__) && !defined(__clang__)
// The parser cuts long file names on purpose, and ends them itself.
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#endif
#include "harness/records/recorded_counts.h"

#include <csv.h>
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/records/csv_text.h"
#include "harness/simt/modules.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAll = "all";
constexpr const char* kCalls = "calls";

void set(std::map<std::string, int64_t>& counts, const char* metric, int64_t count) {
  if (count != 0) counts[metric] += count;
}

std::vector<PlaceCounts> kernels_of(const CountedRun& run) {
  std::vector<PlaceCounts> list;
  for (const simt::LaunchRecord& l : run.launches) {
    const std::string place = "kernel " + l.kernel;
    if (std::ranges::find(list, place, &PlaceCounts::place) == list.end())
      list.push_back(PlaceCounts{.place = place, .access = "", .counts = {}});
    const auto at = std::ranges::find(list, place, &PlaceCounts::place);
    const int64_t blocks = int64_t(l.grid[0]) * l.grid[1] * l.grid[2] * l.times;
    set(at->counts, "launches", l.times);
    set(at->counts, "blocks", blocks);
    set(at->counts, "threads", blocks * l.block[0] * l.block[1] * l.block[2]);
    set(at->counts, "barriers", blocks * l.barriers);
    set(at->counts, "shared_bytes", int64_t(l.static_shared + l.dynamic_shared) * blocks);
  }
  return list;
}

PlaceCounts place_of(const LineCounts& l) {
  PlaceCounts p{.place = place_in_tree(l.file),
                .line = l.line,
                .access = fmt::format("{} {} B", kind_of(l), l.width),
                .counts = {}};
  set(p.counts, "requests", l.counts.requests);
  set(p.counts, "lanes", l.counts.lanes);
  if (l.space == simt::Space::global) {
    set(p.counts, "sectors", l.counts.sectors);
  } else {
    set(p.counts, "wavefronts", l.counts.wavefronts);
    set(p.counts, "conflicts", l.counts.conflicts());
  }
  set(p.counts, "collisions", l.counts.collisions);
  return p;
}

std::string remedy(const std::string& op) {
  return fmt::format("klab counts {} --accept records it again", op);
}

/// Splits "kernels/transpose/cuda/01_naive.cu:18" into file and line; other places are returned whole.
std::pair<std::string, int> split(const std::string& where) {
  const size_t colon = where.rfind(':');
  if (where == kAll || where.starts_with("kernel ") || colon == std::string::npos) return {where, 0};
  return {where.substr(0, colon), std::atoi(where.c_str() + colon + 1)};
}

/// The length of the longest common subsequence from each pair of positions on.
using Lengths = std::vector<std::vector<int>>;
using Places = std::vector<const PlaceCounts*>;
Lengths common(const Places& a, const Places& b) {
  Lengths most(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t k = b.size(); k-- > 0;)
      most[i][k] =
          a[i]->counts == b[k]->counts ? 1 + most[i + 1][k + 1] : std::max(most[i + 1][k], most[i][k + 1]);
  return most;
}

/// Pairs recorded places with present ones, either of them null if it has no partner. Places with equal
/// counts are paired first, then the places between them, one by one.
std::vector<std::pair<const PlaceCounts*, const PlaceCounts*>> pairs_of(const Places& a, const Places& b) {
  const Lengths most = common(a, b);
  std::vector<std::pair<const PlaceCounts*, const PlaceCounts*>> pairs;
  Places only_a, only_b;
  const auto between = [&] {
    for (size_t i = 0; i < std::max(only_a.size(), only_b.size()); ++i)
      pairs.emplace_back(i < only_a.size() ? only_a[i] : nullptr, i < only_b.size() ? only_b[i] : nullptr);
    only_a.clear();
    only_b.clear();
  };
  size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (a[i]->counts == b[k]->counts) {
      between();
      ++i, ++k;
    } else if (most[i + 1][k] >= most[i][k + 1]) {
      only_a.push_back(a[i++]);
    } else {
      only_b.push_back(b[k++]);
    }
  }
  only_a.insert(only_a.end(), a.begin() + std::ptrdiff_t(i), a.end());
  only_b.insert(only_b.end(), b.begin() + std::ptrdiff_t(k), b.end());
  between();
  return pairs;
}

/// Groups places by the properties that must agree for two of them to be the same access: file and kind, or
/// the name of the kernel.
std::map<std::pair<std::string, std::string>, Places> grouped(const RungCounts& rung) {
  std::map<std::pair<std::string, std::string>, Places> groups;
  for (const PlaceCounts& p : rung.places) groups[{p.place, p.access}].push_back(&p);
  for (auto& [key, list] : groups)
    std::ranges::stable_sort(list, {}, [](const PlaceCounts* p) { return p->line; });
  return groups;
}

void add_changes(const std::string& variant, const PlaceCounts* recorded, const PlaceCounts* now,
                 std::vector<CountChange>& changes) {
  std::set<std::string> metrics;
  for (const PlaceCounts* p : {recorded, now})
    if (p != nullptr)
      for (const auto& [metric, count] : p->counts) metrics.insert(metric);
  const PlaceCounts& named = now != nullptr ? *now : *recorded;
  const auto of = [](const PlaceCounts* p, const std::string& metric) -> std::optional<int64_t> {
    if (p == nullptr) return std::nullopt;
    const auto at = p->counts.find(metric);
    return at == p->counts.end() ? 0 : at->second;
  };
  for (const std::string& metric : metrics)
    if (of(recorded, metric) != of(now, metric))
      changes.push_back(
          {variant, named.where(), named.access, metric, of(recorded, metric), of(now, metric), ""});
}

}  // namespace

std::string PlaceCounts::where() const { return line > 0 ? fmt::format("{}:{}", place, line) : place; }

const RungCounts* OpCounts::find(const std::string& variant) const {
  const auto at = std::ranges::find(rungs, variant, &RungCounts::variant);
  return at == rungs.end() ? nullptr : &*at;
}

std::vector<int64_t> shape_of_recorded_counts(const LabOp& op) {
  return op.counted.empty() ? shape_for_counting(op) : op.counted;
}

RungCounts recordable(const LabOp& op, const CountedRun& run) {
  RungCounts rung{.variant = run.variant, .shape = shape_text(op.op, run.shape), .places = {}};
  PlaceCounts all{.place = kAll, .access = "", .counts = {}};
  for (const auto& [metric, count] : counts_of(run)) set(all.counts, metric.c_str(), count);
  all.counts[kCalls] = 1;
  rung.places.push_back(std::move(all));
  for (PlaceCounts& kernel : kernels_of(run)) rung.places.push_back(std::move(kernel));
  for (const LineCounts& l : run.lines) {
    const PlaceCounts p = place_of(l);
    const auto same = std::ranges::find_if(rung.places, [&](const PlaceCounts& o) {
      return o.place == p.place && o.line == p.line && o.access == p.access;
    });
    if (same == rung.places.end())
      rung.places.push_back(p);
    else
      for (const auto& [metric, count] : p.counts) same->counts[metric] += count;
  }
  return rung;
}

RungCounts count_rung(const LabOp& op, const Variant& variant, int threads) {
  if (!simt::load_traced_variants())
    throw std::runtime_error(
        "this program has no CUDA variants whose accesses are watched, so nothing can be counted");
  const std::vector<int64_t> shape = shape_of_recorded_counts(op);
  if (!variant.host || (op.op.valid(shape) && !variant.supported(shape, host_of(variant)).empty()))
    return {.variant = variant.id,
            .shape = "",
            .places = {{.place = kAll, .access = "", .counts = {{kCalls, 0}}}}};
  const CountedRun run = count_run(op, variant, shape, 1, nullptr, threads);
  if (!run.findings.empty()) throw std::runtime_error(variant.id + ": " + run.findings.front().describe());
  if (!run.error.empty()) throw std::runtime_error(variant.id + ": " + run.error);
  return recordable(op, run);
}

fs::path counts_file(const fs::path& root, const std::string& op) {
  return root / "reports" / "recorded" / "counts" / (op + ".csv");
}

std::string counts_csv(const OpCounts& counts) {
  std::string text = fmt::format("# compiled by {}; recorded by klab counts --accept\n", counts.compiler);
  text += "variant,shape,place,access,metric,count\n";
  for (const RungCounts& rung : counts.rungs)
    for (const PlaceCounts& p : rung.places)
      for (const auto& [metric, count] : p.counts)
        text += fmt::format("{},{},{},{},{},{}\n", csv_quoted(rung.variant), csv_quoted(rung.shape),
                            csv_quoted(p.where()), csv_quoted(p.access), csv_quoted(metric), count);
  return text;
}

std::optional<OpCounts> read_counts(const fs::path& file, const std::string& op) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  OpCounts all;
  {
    const std::string before = "# compiled by ";
    std::ifstream in(file);
    std::string line;
    if (std::getline(in, line) && line.starts_with(before))
      all.compiler = line.substr(before.size(), line.find(';') - before.size());
  }
  std::set<std::string> seen;
  unsigned line = 0;
  const auto refuse = [&](const std::string& what) {
    throw RecordedCountsError(fmt::format("{}:{}: {}; {}", file.string(), line, what, remedy(op)));
  };
  try {
    io::CSVReader<6, io::trim_chars<>, io::double_quote_escape<',', '"'>, io::throw_on_overflow,
                  io::single_line_comment<'#'>>
        in(file.string());
    in.read_header(io::ignore_no_column, "variant", "shape", "place", "access", "metric", "count");
    std::string variant, shape, where, access, metric;
    int64_t count = 0;
    while (in.read_row(variant, shape, where, access, metric, count)) {
      line = in.get_file_line();
      if (!variant.starts_with(op + ".")) refuse(fmt::format("'{}' is no rung of {}", variant, op));
      if (!seen.insert(fmt::format("{}\n{}\n{}\n{}", variant, where, access, metric)).second)
        refuse(fmt::format("{} of {} at {} stands there twice", metric, variant, where));
      const Variant* v = find_variant(variant);
      const std::string id = v != nullptr ? v->id : variant;
      if (all.find(id) == nullptr)
        all.rungs.push_back(RungCounts{.variant = id, .shape = shape, .places = {}});
      RungCounts& rung = *std::ranges::find(all.rungs, id, &RungCounts::variant);
      if (rung.shape != shape) refuse(fmt::format("{} stands there with two shapes", variant));
      const auto parts = split(where);
      const auto same = [&](const PlaceCounts& p) {
        return p.place == parts.first && p.line == parts.second && p.access == access;
      };
      if (std::ranges::none_of(rung.places, same))
        rung.places.push_back(
            PlaceCounts{.place = parts.first, .line = parts.second, .access = access, .counts = {}});
      const auto at = std::ranges::find_if(rung.places, same);
      at->counts[metric] = count;
    }
  } catch (const io::error::base& e) {
    throw RecordedCountsError(fmt::format("{}; {}", e.what(), remedy(op)));
  }
  return all;
}

std::string CountChange::text() const {
  std::string text = variant;
  if (!where.empty()) text += "  " + where;
  if (!access.empty()) text += "  " + access;
  if (!note.empty()) return text + ": " + note;
  const auto number = [](const std::optional<int64_t>& n) { return n ? std::to_string(*n) : "none"; };
  return fmt::format("{}  {}: {} recorded, {} now", text, metric, number(recorded), number(now));
}

std::vector<CountChange> changes_of(const RungCounts& recorded, const RungCounts& now) {
  std::vector<CountChange> changes;
  if (recorded.shape != now.shape) {
    const auto said = [](const RungCounts& r) {
      return r.shape.empty() ? "not counted: the host could not run it" : "counted at " + r.shape;
    };
    changes.push_back({.variant = now.variant,
                       .where = "",
                       .access = "",
                       .metric = "shape",
                       .recorded = {},
                       .now = {},
                       .note = fmt::format("was {}, and is {}", said(recorded), said(now))});
    return changes;
  }
  const auto before = grouped(recorded), after = grouped(now);
  // in the order of the present rung, followed by those it lost
  std::vector<std::pair<std::string, std::string>> keys;
  for (const RungCounts* rung : {&now, &recorded})
    for (const PlaceCounts& p : rung->places)
      if (std::ranges::find(keys, std::pair(p.place, p.access)) == keys.end())
        keys.emplace_back(p.place, p.access);
  for (const auto& key : keys) {
    const auto a = before.find(key), b = after.find(key);
    for (const auto& [was, is] :
         pairs_of(a == before.end() ? Places() : a->second, b == after.end() ? Places() : b->second))
      add_changes(now.variant, was, is, changes);
  }
  return changes;
}

std::vector<CountChange> changes_of(const std::optional<OpCounts>& recorded,
                                    const std::vector<RungCounts>& now, bool whole) {
  std::vector<CountChange> changes;
  const auto note = [&](const std::string& variant, const char* text) {
    changes.push_back({.variant = variant,
                       .where = "",
                       .access = "",
                       .metric = "",
                       .recorded = {},
                       .now = {},
                       .note = text});
  };
  for (const RungCounts& rung : now) {
    const RungCounts* was = recorded ? recorded->find(rung.variant) : nullptr;
    if (was == nullptr) {
      note(rung.variant, "has no recorded counts");
      continue;
    }
    for (CountChange& change : changes_of(*was, rung)) changes.push_back(std::move(change));
  }
  if (whole && recorded)
    for (const RungCounts& rung : recorded->rungs)
      if (std::ranges::find(now, rung.variant, &RungCounts::variant) == now.end())
        note(rung.variant, "has recorded counts, but there is no such rung");
  return changes;
}

}  // namespace klab
