#include "harness/cli/counts_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "harness/core/registry.h"
#include "harness/report/table.h"

namespace klab {
namespace {

int64_t count_of(const Row& row, const std::string& name) {
  const auto at = row.counts.find(name);
  return at == row.counts.end() ? 0 : at->second;
}

/// Formats a count, or its ratio to another with one decimal, "4.0"; empty if there is nothing to divide by.
PrintedCount printed(const Row& row, const char* title, const char* name, const char* what,
                     const char* per = nullptr) {
  PrintedCount p{.title = title, .name = name, .text = ""};
  const int64_t n = count_of(row, what), by = per != nullptr ? count_of(row, per) : 0;
  if (per != nullptr && by > 0) p.text = fmt::format("{:.1f}", double(n) / double(by));
  if (per == nullptr && n > 0) p.text = std::to_string(n);
  p.value = std::atof(p.text.c_str());
  return p;
}

bool holds_counts(const Row& r) { return r.backend == "cuda" && r.seconds.empty() && !r.counts.empty(); }

/// Returns the text of the last column: "0.25x loads".
std::string against_parent(const Row& row, const std::vector<Row>& rows) {
  const Variant* v = find_variant(row.variant);
  if (v == nullptr || v->parent.empty()) return "";
  const auto parent = std::ranges::find_if(
      rows, [&](const Row& r) { return r.variant == v->parent && r.shape == row.shape && holds_counts(r); });
  if (parent == rows.end()) return "";
  const auto fewer = fewer_than(row, *parent);
  if (!fewer) return "nothing fewer";
  return fewer->ratio == 0 ? "no " + fewer->name : fmt::format("{:.2g}x {}", fewer->ratio, fewer->name);
}

std::string rung_of(const Row& r) {
  return r.variant.starts_with(r.op + ".") ? r.variant.substr(r.op.size() + 1) : r.variant;
}

/// Returns a table of the rows in `order`, with the columns that at least one of them fills.
Table table_of(const std::vector<const Row*>& order, const std::vector<Row>& rows) {
  std::vector<std::vector<PrintedCount>> counts;
  counts.reserve(order.size());
  for (const Row* r : order) counts.push_back(printed_counts(*r));
  std::vector<Column> columns{{"counted"}};
  std::vector<size_t> shown;
  for (size_t c = 0; !counts.empty() && c < counts[0].size(); ++c) {
    if (std::ranges::all_of(counts, [&](const auto& of_row) { return of_row[c].text.empty(); })) continue;
    columns.push_back({counts[0][c].title, Column::Kind::right});
    shown.push_back(c);
  }
  columns.push_back({"against parent"});
  Table table(columns);
  for (size_t i = 0; i < order.size(); ++i) {
    const Variant* v = find_variant(order[i]->variant);
    std::vector<Cell> cells{(v != nullptr && v->branch() ? "└ " : "") + rung_of(*order[i])};
    for (const size_t c : shown) cells.emplace_back(counts[i][c].text);
    cells.emplace_back(against_parent(*order[i], rows));
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

std::vector<PrintedCount> printed_counts(const Row& row) {
  const auto one = [&](auto... names) { return printed(row, names...); };
  return {
      one("launches", "launches", "launches"),
      one("threads", "threads", "threads"),
      one("accesses/thread", "accesses/thread", "thread_accesses"),
      one("loads", "loads", "global_load_requests"),
      one("sectors/request", "load sectors/request", "global_load_sectors", "global_load_requests"),
      one("stores", "stores", "global_store_requests"),
      one("sectors/request", "store sectors/request", "global_store_sectors", "global_store_requests"),
      one("atomics", "atomics", "global_atomic_requests"),
      one("sectors/request", "atomic sectors/request", "global_atomic_sectors", "global_atomic_requests"),
      one("shared", "shared requests", "shared_requests"),
      one("conflicts/request", "bank conflicts/request", "bank_conflicts", "shared_requests"),
      one("shared B/block", "shared bytes/block", "shared_bytes_per_block"),
      one("barriers", "barriers", "barriers"),
      one("staged B", "staged bytes", "staged_bytes"),
      one("bus path B", "bytes on the bus path", "bus_path_bytes"),
  };
}

std::optional<FewerCount> fewer_than(const Row& row, const Row& parent) {
  const auto now = printed_counts(row), before = printed_counts(parent);
  FewerCount best;
  for (size_t c = 0; c < now.size(); ++c)
    if (before[c].value > 0 && now[c].value / before[c].value < best.ratio)
      best = {now[c].name, now[c].value / before[c].value};
  if (best.ratio == 1) return std::nullopt;
  return best;
}

std::string counts_text(const std::vector<Row>& rows, const std::string& remark) {
  std::vector<const Row*> order;
  std::string notes;
  for (const Row& r : rows) order.push_back(&r);
  std::ranges::stable_sort(order, {}, [](const Row* r) { return place_in_ladder(r->variant); });
  std::vector<const Row*> counted;
  for (const Row* r : order) {
    if (r->backend != "cuda" || !r->seconds.empty()) continue;
    if (!r->wrong.empty())
      notes += fmt::format("  {}  {}: {}\n", rung_of(*r), inked("FAILED", Ink::red), r->wrong);
    if (holds_counts(*r))
      counted.push_back(r);
    else if (!r->skipped.empty())
      notes += fmt::format("  {}  {}: {}\n", rung_of(*r), inked("skipped", Ink::yellow), r->skipped);
  }
  if (counted.empty()) return notes;
  Table table = table_of(counted, rows);
  table.indent(2);
  return fmt::format("{}, {}\n", inked(counted.back()->op + " on CUDA", Ink::bold),
                     inked(fmt::format("{}; {}", counted.back()->shape, remark), Ink::dim)) +
         table.text() + notes;
}

}  // namespace klab
