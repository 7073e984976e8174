// Parses and formats sizes of memory, and prints the account as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"
#include "harness/report/table.h"
#include "labs/radiance/run/budget.h"

namespace klab {

int64_t bytes_from(std::string_view text) {
  static const std::pair<const char*, double> units[] = {{"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},
                                                         {"tb", 1e12},    {"kib", 0x1p10}, {"mib", 0x1p20},
                                                         {"gib", 0x1p30}, {"tib", 0x1p40}};
  const auto fail = [&] {
    throw std::invalid_argument(fmt::format(
        "must be a size with its unit, from 1MB to 1000TB, such as 800MB, 4GB or 1.5GiB; found '{}'", text));
  };
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string_view::npos) fail();
  std::string unit(text.substr(end));
  std::erase(unit, ' ');
  for (char& ch : unit) ch = char(std::tolower(static_cast<unsigned char>(ch)));
  const auto at = std::ranges::find(units, unit, [](const auto& u) { return std::string(u.first); });
  if (at == std::end(units)) fail();
  double number = 0;
  try {
    number = number_from<double>(text.substr(0, end), {0, 1e15});
  } catch (const std::invalid_argument&) {
    fail();
  }
  const double bytes = number * at->second;
  if (!within(bytes, {1e6, 1e15})) fail();
  return int64_t(bytes);
}

std::string bytes_text(int64_t bytes) {
  return bytes < 1'000'000'000 ? fmt::format("{:.0f} MB", double(bytes) * 1e-6)
                               : fmt::format("{:.2f} GB", double(bytes) * 1e-9);
}

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
