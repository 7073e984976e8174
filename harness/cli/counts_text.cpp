#include "harness/cli/counts_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "harness/core/registry.h"
#include "harness/report/table.h"

namespace klab {
namespace {

int64_t count_of(const Row& row, const std::string& name) {
  const auto at = row.counts.find(name);
  return at == row.counts.end() ? 0 : at->second;
}

/// "4.0", or nothing where there is nothing to divide by.
std::string a_request(const Row& row, const std::string& what, const std::string& requests) {
  const int64_t n = count_of(row, requests);
  return n == 0 ? "" : fmt::format("{:.1f}", double(count_of(row, what)) / double(n));
}

std::string plain(const Row& row, const std::string& name) {
  const int64_t n = count_of(row, name);
  return n == 0 ? "" : std::to_string(n);
}

}  // namespace

std::string counts_text(const std::vector<Row>& rows, const std::string& remark) {
  const auto right = Column::Kind::right;
  Table table({{"counted"},
               {"launches", right},
               {"loads", right},
               {"sectors/request", right},
               {"stores", right},
               {"sectors/request", right},
               {"atomics", right},
               {"shared", right},
               {"conflicts/request", right},
               {"barriers", right}});
  table.indent(2);
  std::string notes, shape, op;
  std::vector<const Row*> order;
  for (const Row& r : rows) order.push_back(&r);
  std::ranges::stable_sort(order, {}, [](const Row* r) { return place_in_ladder(r->variant); });
  for (const Row* shown : order) {
    const Row& r = *shown;
    const std::string rung =
        r.variant.starts_with(r.op + ".") ? r.variant.substr(r.op.size() + 1) : r.variant;
    if (r.backend != "cuda" || !r.seconds.empty()) continue;
    if (!r.wrong.empty()) notes += fmt::format("  {}  {}: {}\n", rung, inked("FAILED", Ink::red), r.wrong);
    if (r.counts.empty()) {
      if (!r.skipped.empty())
        notes += fmt::format("  {}  {}: {}\n", rung, inked("skipped", Ink::yellow), r.skipped);
      continue;
    }
    shape = r.shape;
    op = r.op;
    const Variant* v = find_variant(r.variant);
    table.add({(v != nullptr && v->branch() ? "└ " : "") + rung, plain(r, "launches"),
               plain(r, "global_load_requests"), a_request(r, "global_load_sectors", "global_load_requests"),
               plain(r, "global_store_requests"),
               a_request(r, "global_store_sectors", "global_store_requests"),
               plain(r, "global_atomic_requests"), plain(r, "shared_requests"),
               a_request(r, "bank_conflicts", "shared_requests"), plain(r, "barriers")});
  }
  if (table.empty()) return notes;
  return fmt::format("{}, {}\n", inked(op + " on CUDA", Ink::bold),
                     inked(fmt::format("{}; {}", shape, remark), Ink::dim)) +
         table.text() + notes;
}

}  // namespace klab
