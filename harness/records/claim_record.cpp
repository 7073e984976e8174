#include "harness/records/claim_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/records/input.h"
#include "harness/records/json_schema.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kRemedy = "move the file away, then klab claims --all makes a new one";

std::vector<double> all_values(const std::vector<ClaimRow>& rows) {
  std::vector<double> all;
  for (const ClaimRow& row : rows) all.insert(all.end(), row.values.begin(), row.values.end());
  return all;
}

std::pair<double, double> ends_of(const ClaimRow& row) {
  const auto [low, high] = std::ranges::minmax(row.values);
  return {low, high};
}

/// Names one value of an entry: "with BatchNorm, seed 2".
std::string case_text(const ClaimEntry& e, size_t row, size_t value) {
  std::string text = e.rows[row].condition;
  if (e.seeds.size() > 1 && value < e.seeds.size())
    text += fmt::format("{}seed {}", text.empty() ? "" : ", ", e.seeds[value]);
  return text;
}

/// Reads fields of one entry; every message names the file and the claim.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("is no object");
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw ClaimRecordError(fmt::format("{}: {}; {}", where_, why, kRemedy));
  }
  const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) fail(fmt::format("\"{}\" is missing", key));
    return *found;
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) fail(fmt::format("\"{}\" must be text", key));
    return at(key).get<std::string>();
  }
  double number(const char* key) const {
    if (!at(key).is_number()) fail(fmt::format("\"{}\" must be a number", key));
    return at(key).get<double>();
  }
  uint64_t whole(const json& value, const char* key) const {
    if (!value.is_number_unsigned()) fail(fmt::format("\"{}\" must be a whole number", key));
    return value.get<uint64_t>();
  }
  const json& list(const char* key) const {
    if (!at(key).is_array()) fail(fmt::format("\"{}\" must be a list", key));
    return at(key);
  }
  bool has(const char* key) const { return object_.contains(key); }

 private:
  const json& object_;
  std::string where_;
};

template <class Enum>
Enum enum_from(const Reader& r, const char* key, std::initializer_list<Enum> all) {
  const std::string text = r.text(key);
  std::string names;
  for (const Enum e : all) {
    if (text == name_of(e)) return e;
    names += (names.empty() ? "" : ", ") + std::string(name_of(e));
  }
  r.fail(fmt::format("\"{}\" must be one of {}, found \"{}\"", key, names, excerpt(text)));
}

ClaimRule rule_from(const Reader& r) {
  const json& rule = r.at("rule");
  if (!rule.is_object() || rule.empty()) r.fail("\"rule\" must have \"least\", \"most\" or both");
  ClaimRule result;
  for (const auto& [key, value] : rule.items()) {
    if (!value.is_number() || (key != "least" && key != "most"))
      r.fail("\"rule\" must have the numbers \"least\", \"most\" or both");
    (key == "least" ? result.least : result.most) = value.get<double>();
  }
  return result;
}

ClaimEntry entry_from(const json& object, const std::string& where) {
  const std::string id = object.is_object() ? object.value("claim", json("?")).dump() : "?";
  const Reader r(object, fmt::format("{}: claim {}", where, id));
  ClaimEntry e;
  e.claim = {
      .id = r.text("claim"),
      .said = r.text("said"),
      .source = r.text("source"),
      .metric = r.text("metric"),
      .rule = rule_from(r),
      .kind = enum_from(r, "kind", {ClaimKind::exact, ClaimKind::random, ClaimKind::timed, ClaimKind::gpu})};
  if (r.has("depends_on")) e.claim.on = r.text("depends_on");
  if (r.has("faster")) e.claim.faster = r.text("faster"), e.claim.slower = r.text("slower");
  e.edition = int(r.whole(r.at("edition"), "edition"));
  for (const json& seed : r.list("seeds")) e.seeds.push_back(r.whole(seed, "seeds"));
  for (const json& row : r.list("rows")) {
    const Reader of_row(row, fmt::format("{}: claim {}, a row", where, id));
    ClaimRow read{of_row.text("condition"), {}};
    for (const json& value : of_row.list("values")) {
      if (!value.is_number()) of_row.fail("\"values\" must be numbers");
      read.values.push_back(value.get<double>());
    }
    if (read.values.empty()) of_row.fail("\"values\" is empty");
    if (!e.seeds.empty() && read.values.size() != e.seeds.size())
      of_row.fail(fmt::format("{} values for {} seeds", read.values.size(), e.seeds.size()));
    e.rows.push_back(std::move(read));
  }
  if (e.rows.empty()) r.fail("\"rows\" is empty");
  e.because = r.text("because");
  e.machine = r.text("machine");
  e.commit = r.text("commit");
  e.date = r.text("date");
  e.seconds = r.number("seconds");
  if (r.has("rows_of")) e.rows_of = r.text("rows_of");
  if (e.complete() != r.has("verdict"))
    r.fail(e.complete() ? "\"verdict\" is missing" : "a verdict from too few seeds");
  if (e.complete() &&
      enum_from(r, "verdict", {ClaimVerdict::held, ClaimVerdict::refuted, ClaimVerdict::depends}) !=
          e.verdict())
    r.fail(
        fmt::format("its rule and values say \"{}\", not \"{}\"", name_of(e.verdict()), r.text("verdict")));
  return e;
}

ordered_json to_json(const ClaimEntry& e) {
  ordered_json rule = ordered_json::object();
  if (std::isfinite(e.claim.rule.least)) rule["least"] = e.claim.rule.least;
  if (std::isfinite(e.claim.rule.most)) rule["most"] = e.claim.rule.most;
  ordered_json rows = ordered_json::array();
  for (const ClaimRow& row : e.rows) rows.push_back({{"condition", row.condition}, {"values", row.values}});
  ordered_json j = {{"claim", e.claim.id},
                    {"said", e.claim.said},
                    {"source", e.claim.source},
                    {"metric", e.claim.metric},
                    {"rule", rule},
                    {"kind", name_of(e.claim.kind)},
                    {"command", e.claim.command()},
                    {"edition", e.edition},
                    {"seeds", e.seeds},
                    {"rows", rows},
                    {"because", e.because},
                    {"machine", e.machine},
                    {"commit", e.commit},
                    {"date", e.date},
                    {"seconds", e.seconds}};
  if (!e.claim.on.empty()) j["depends_on"] = e.claim.on;
  if (!e.claim.faster.empty()) j["faster"] = e.claim.faster, j["slower"] = e.claim.slower;
  if (!e.rows_of.empty()) j["rows_of"] = e.rows_of;
  if (e.complete()) {
    j["verdict"] = name_of(e.verdict());
    j["low"] = e.low(), j["value"] = e.value(), j["high"] = e.high();
  }
  return j;
}

}  // namespace

std::string ClaimRule::text() const {
  if (least == most) return claim_number(least);
  if (std::isinf(most)) return "at least " + claim_number(least);
  if (std::isinf(least)) return "at most " + claim_number(most);
  return fmt::format("from {} to {}", claim_number(least), claim_number(most));
}

ClaimRule at_least(double limit) { return {.least = limit}; }
ClaimRule at_most(double limit) { return {.most = limit}; }
ClaimRule between(double least, double most) { return {.least = least, .most = most}; }

const char* name_of(ClaimKind kind) {
  switch (kind) {
    case ClaimKind::exact:
      return "exact";
    case ClaimKind::random:
      return "random";
    case ClaimKind::timed:
      return "timed";
    case ClaimKind::gpu:
      return "gpu";
  }
  return "";
}

size_t least_values(ClaimKind kind) { return kind == ClaimKind::exact ? 1 : 3; }

std::string StatedClaim::command() const {
  if (kind != ClaimKind::gpu) return "claims --run " + id;
  if (slower.find(".cpu.") != std::string::npos)
    return "claims " + id;  // times of two machines: only a record has both
  return fmt::format("bench --backend cuda {} {}", faster, slower);
}

const char* name_of(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::held:
      return "held";
    case ClaimVerdict::refuted:
      return "refuted";
    case ClaimVerdict::depends:
      return "depends";
  }
  return "";
}

ClaimVerdict verdict_of(const ClaimRule& rule, const std::vector<ClaimRow>& rows) {
  const std::vector<double> all = all_values(rows);
  if (all.empty()) throw std::invalid_argument("a verdict needs a value");
  const auto held = std::ranges::count_if(all, [&](double v) { return rule.holds(v); });
  return held == std::ssize(all) ? ClaimVerdict::held
         : held == 0             ? ClaimVerdict::refuted
                                 : ClaimVerdict::depends;
}

bool ClaimEntry::complete() const {
  return !rows.empty() && std::ranges::all_of(rows, [&](const ClaimRow& row) {
    return row.values.size() >= least_values(claim.kind);
  });
}

double ClaimEntry::low() const { return std::ranges::min(all_values(rows)); }
double ClaimEntry::high() const { return std::ranges::max(all_values(rows)); }
double ClaimEntry::value() const {
  std::vector<double> all = all_values(rows);
  std::ranges::sort(all);
  return all.size() % 2 == 1 ? all[all.size() / 2] : (all[all.size() / 2 - 1] + all[all.size() / 2]) / 2;
}

std::string ClaimEntry::depends_text() const {
  if (verdict() != ClaimVerdict::depends) return "";
  // Two conditions that differ throughout, else two values.
  const ClaimRow *held = nullptr, *refuted = nullptr;
  for (const ClaimRow& row : rows) {
    const ClaimVerdict v = verdict_of(claim.rule, {row});
    if (v == ClaimVerdict::held && held == nullptr) held = &row;
    if (v == ClaimVerdict::refuted && refuted == nullptr) refuted = &row;
  }
  if (held != nullptr && refuted != nullptr) {
    const auto part = [](const ClaimRow& row) {
      const auto [low, high] = ends_of(row);
      return fmt::format("{} {}", row.condition, claim_interval(low, high));
    };
    return fmt::format("on {}: {}; {}", claim.on, part(*held), part(*refuted));
  }
  std::string cases[2];
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t v = 0; v < rows[r].values.size(); ++v) {
      std::string& text = cases[claim.rule.holds(rows[r].values[v]) ? 0 : 1];
      if (text.empty()) text = fmt::format("{} {}", case_text(*this, r, v), claim_number(rows[r].values[v]));
    }
  return fmt::format("on {}: {}; {}", claim.kind == ClaimKind::gpu ? "the round" : "the seed", cases[0],
                     cases[1]);
}

const ClaimEntry* ClaimRecord::find(const std::string& id) const {
  const auto at = std::ranges::find_if(entries, [&](const ClaimEntry& e) { return e.claim.id == id; });
  return at == entries.end() ? nullptr : &*at;
}

void ClaimRecord::set(ClaimEntry entry) {
  const auto id = [](const ClaimEntry& e) { return e.claim.id; };
  const auto at = std::ranges::lower_bound(entries, entry.claim.id, {}, id);
  if (at != entries.end() && at->claim.id == entry.claim.id)
    *at = std::move(entry);
  else
    entries.insert(at, std::move(entry));
}

fs::path claim_record_file(const fs::path& root, const std::string& fingerprint) {
  return root / "reports" / "recorded" / fingerprint / "claims.json";
}

std::string claim_record_json(const ClaimRecord& record) {
  ordered_json claims = ordered_json::array();
  for (const ClaimEntry& e : record.entries) claims.push_back(to_json(e));
  const ordered_json j = {
      {"machine", record.fingerprint}, {"processor", record.processor}, {"claims", claims}};
  return with_schema("claims", j).dump(1) + "\n";
}

ClaimRecord read_claim_record(const fs::path& file, const std::string& fingerprint) {
  json j;
  try {
    j = read_json_file(file);
  } catch (const std::runtime_error& error) {
    throw ClaimRecordError(fmt::format("{}; {}", error.what(), kRemedy));
  }
  const std::string where = file.string();
  const Reader r(j, where);
  if (r.text("schema") != "claims") r.fail("\"schema\" must be \"claims\"");
  const int version = version_of(json_schema("claims"));
  if (r.at("schema_version") != version)
    r.fail(
        fmt::format("\"schema_version\" is {}, this klab reads {}", r.at("schema_version").dump(), version));
  ClaimRecord record{r.text("machine"), r.text("processor"), {}};
  if (!fingerprint.empty() && record.fingerprint != fingerprint)
    r.fail(fmt::format("\"machine\" is {}, but the folder is that of {}", excerpt(record.fingerprint),
                       fingerprint));
  std::set<std::string> ids;
  for (const json& entry : r.list("claims")) {
    ClaimEntry e = entry_from(entry, where);
    if (e.claim.kind != ClaimKind::gpu && e.machine != record.fingerprint)
      r.fail(fmt::format("claim {} is of machine {}, the file of {}", e.claim.id, excerpt(e.machine),
                         record.fingerprint));
    if (!ids.insert(e.claim.id).second) r.fail("claim " + e.claim.id + " is listed twice");
    record.set(std::move(e));
  }
  return record;
}

std::vector<ClaimRecord> read_claim_records(const fs::path& root) {
  if (root.empty()) return {};
  std::vector<std::string> machines;
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(root / "reports" / "recorded", error))
    if (fs::exists(folder.path() / "claims.json")) machines.push_back(folder.path().filename().string());
  std::ranges::sort(machines);
  std::vector<ClaimRecord> records;
  for (const std::string& machine : machines)
    records.push_back(read_claim_record(claim_record_file(root, machine), machine));
  return records;
}

std::string claim_number(double value) {
  if (value == std::round(value) && std::abs(value) < 1e12) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

std::string claim_interval(double low, double high) {
  const std::string a = claim_number(low), b = claim_number(high);
  return a == b ? a : a + " to " + b;
}

bool claims_agree(const ClaimEntry& recorded, const ClaimEntry& now) {
  if (recorded.verdict() == now.verdict()) return true;
  if (recorded.rows.size() != now.rows.size()) return false;
  for (size_t i = 0; i < recorded.rows.size(); ++i) {
    const auto [low, high] = ends_of(recorded.rows[i]);
    const auto [now_low, now_high] = ends_of(now.rows[i]);
    if (recorded.rows[i].condition != now.rows[i].condition || now_low > high || now_high < low) return false;
  }
  return true;
}

}  // namespace klab
