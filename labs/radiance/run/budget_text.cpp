// The account of memory as a table, and its peaks.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/records/memory_left.h"
#include "harness/report/table.h"
#include "labs/radiance/run/budget.h"

namespace klab {

std::string account_text(const MemoryAccount& account, const MemoryBudget& budget) {
  Table table({{"memory"}, {"bytes", Column::Kind::right}, {"for"}, {"", Column::Kind::bar}});
  for (const auto& s : account.shares)
    table.add({s.owner, bytes_text(s.bytes), s.what, Cell::bar(double(s.bytes))});
  table.add({"sum", bytes_text(account.total()),
             fmt::format("at most, of {} ({})", bytes_text(budget.bytes), budget.whose), Cell::bar(0)});
  return table.text();
}

std::string peaks_text(const MemoryAccount& account) {
  Table table({{"memory"}, {"planned", Column::Kind::right}, {"at most", Column::Kind::right}});
  const auto owned = memory_by_owner();
  for (const auto& s : account.shares) {
    const auto at = owned.find(s.owner);
    table.add({s.owner, bytes_text(s.bytes), at == owned.end() ? "" : bytes_text(at->second.peak)});
  }
  table.add({"sum, by the system", bytes_text(account.total()), bytes_text(peak_memory())});
  return table.text();
}

nlohmann::json memory_json(const MemoryPlan& plan, const MemoryBudget& budget) {
  nlohmann::json owners = nlohmann::json::object();
  const auto owned = memory_by_owner();
  for (const auto& s : plan.account.shares) {
    const auto at = owned.find(s.owner);
    owners[s.owner] = {{"planned", s.bytes}};
    if (at != owned.end()) owners[s.owner]["peak"] = at->second.peak;
  }
  return {{"budget", budget.bytes},
          {"budget_from", budget.whose},
          {"planned", plan.account.total()},
          {"peak", peak_memory()},
          {"owners", owners},
          {"smaller", plan.smaller}};
}

}  // namespace klab
