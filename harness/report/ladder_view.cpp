#include "harness/report/ladder_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/check/cases.h"
#include "harness/report/report.h"
#include "harness/report/table.h"
#include "harness/timing/core_to_core.h"
#include "harness/timing/unit_ceilings.h"

namespace klab {
namespace {

std::optional<Estimate> over_sessions(const std::vector<const Row*>& rows,
                                      std::optional<Estimate> Row::*field) {
  std::vector<double> values;
  for (const Row* r : rows)
    if (r->*field) values.push_back((r->*field)->value);
  if (values.empty()) return std::nullopt;
  return median_interval(values);
}

/// Returns whether the row is of a branch at a size other than its own. Counted rows have no such size, since
/// counting uses small shapes.
bool pays_elsewhere(const Row& row) {
  const Variant* v = find_variant(row.variant);
  const LabOp* op = find_op(row.op);
  return v != nullptr && op != nullptr && v->branch() && !row.seconds.empty() &&
         row.shape != shape_text(op->op, v->when.shape);
}

Row merged(const std::vector<const Row*>& rows) {
  Row r = *rows.front();
  if (rows.size() == 1) return r;
  for (const Row* other : rows)
    if (!other->wrong.empty()) return *other;
  std::vector<double> times;
  for (const Row* other : rows) {
    if (other->seconds.empty()) continue;
    if (r.seconds.empty()) r = *other;
    times.push_back(other->time.value);
    if (other->worst_error) r.worst_error = std::max(r.worst_error.value_or(0), *other->worst_error);
  }
  if (times.empty()) return r;
  r.seconds = times;  // one per session
  r.shares.clear();
  r.waited.clear();
  r.time = median_interval(times);
  r.over_naive = over_sessions(rows, &Row::over_naive);
  r.over_parent = over_sessions(rows, &Row::over_parent);
  r.over_peer = over_sessions(rows, &Row::over_peer);
  // If two resources limit almost equally, another one may bind in another session.
  std::vector<const Row*> bound;
  std::vector<double> limits;
  for (const Row* other : rows)
    if (other->ceiling == r.ceiling && other->ceiling_per_second > 0) {
      bound.push_back(other);
      limits.push_back(other->ceiling_per_second);
    }
  r.of_ceiling = over_sessions(bound, &Row::of_ceiling);
  if (!limits.empty()) r.ceiling_per_second = median(limits);
  if (r.expected && r.over_parent)
    r.verdict = r.over_parent->low >= *r.expected   ? "held"
                : r.over_parent->high < *r.expected ? "not held"
                                                    : "undecided";
  return r;
}

}  // namespace

Recording merged_sessions(const Recording& run) {
  std::map<std::string, std::vector<const Row*>> same;
  std::vector<std::string> order;
  for (const Row& r : run.rows) {
    auto& list = same[r.fingerprint + "|" + key_of(r)];
    if (list.empty()) order.push_back(r.fingerprint + "|" + key_of(r));
    list.push_back(&r);
  }
  Recording result;
  result.complete = run.complete;
  for (const std::string& key : order) result.rows.push_back(merged(same[key]));
  return result;
}

double LadderView::work() const {
  if (rows.empty()) return 0;
  if (ceiling.starts_with("fma") || is_unit_ceiling(ceiling)) return rows.front()->flops;
  // Bytes read in order are the row's bytes. Numbers of values and of random reads follow from the row's
  // share.
  const bool in_order = unit_of(ceiling) == unit_of(CeilingKind::read) && !ceiling.starts_with("gather");
  std::vector<double> known;
  if (!in_order)
    for (const Row* r : rows)
      if (r->of_ceiling && r->ceiling == ceiling)
        known.push_back(r->of_ceiling->value * r->time.value * r->ceiling_per_second);
  return known.empty() ? rows.front()->bytes : median(known);
}
double LadderView::rate(const Row& row) const { return work() / row.time.value; }
double LadderView::ceiling_per_second() const {
  std::vector<double> known;
  for (const Row* r : rows)
    if (r->of_ceiling && r->ceiling == ceiling) known.push_back(r->ceiling_per_second);
  return known.empty() ? 0 : median(known);
}
std::string LadderView::resources() const {
  for (const Row* r : rows)
    if (!r->resources.empty()) return resources_text(r->resources);
  return "";
}
std::string LadderView::share_text(const Row& row) const {
  if (!row.of_ceiling) return row.ceiling.starts_with(kUnknownCeiling) ? row.ceiling : "";
  if (no_limit_binds(rows)) return "latency";
  return fmt::format("{:.0f} % of {}", 100 * row.of_ceiling->value, row.ceiling);
}
bool LadderView::timed() const {
  return std::any_of(rows.begin(), rows.end(), [](const Row* r) { return !r->seconds.empty(); });
}

std::string LadderView::moved() const {
  std::vector<double> rounds;
  for (const Row* r : rows) rounds.insert(rounds.end(), r->core_to_core_ns.begin(), r->core_to_core_ns.end());
  return moved_text(rounds);
}

std::vector<LadderView> ladder_views(const std::vector<Row>& rows, bool branches) {
  std::vector<LadderView> views;
  std::map<std::string, size_t> places;
  for (const Row& r : rows) {
    const std::string key = fmt::format("{}|{}|{}|{}|{}", r.fingerprint, r.op, r.shape, r.threads, r.cache);
    const auto [at, fresh] = places.emplace(key, views.size());
    if (fresh) {
      views.push_back(
          {r.lab, r.op, r.size.empty() ? r.shape : r.size, r.shape, r.cache, r.threads, {}, {}, ""});
    }
    LadderView& one = views[at->second];
    one.all.push_back(&r);
    // The first rows may have been skipped.
    if (one.ceiling.empty() && !r.ceiling.starts_with(kUnknownCeiling)) one.ceiling = r.ceiling;
  }
  for (LadderView& view : views) {
    std::ranges::stable_sort(view.all, {}, [](const Row* r) { return place_in_ladder(r->variant); });
    for (const Row* r : view.all)
      if (branches || !pays_elsewhere(*r)) view.rows.push_back(r);
  }
  std::stable_sort(views.begin(), views.end(),
                   [](const LadderView& a, const LadderView& b) { return a.lab < b.lab; });
  return views;
}

bool counts_flops(const std::vector<const LadderView*>& views) {
  return std::ranges::any_of(views, [](const LadderView* v) {
    return v->ceiling.starts_with("fma") || is_unit_ceiling(v->ceiling);
  });
}

std::string short_name(const Row& row) {
  const std::string rest =
      row.variant.starts_with(row.op + ".") ? row.variant.substr(row.op.size() + 1) : row.variant;
  return rest.starts_with("cpu.") ? rest.substr(4) : rest;
}

std::vector<ClaimResult> claim_results(const std::string& lab, const std::vector<LadderView>& ladders) {
  std::vector<ClaimResult> results;
  for (const Lab& l : labs()) {
    if (l.id != lab) continue;
    for (const Claim& claim : l.claims) {
      bool any = false;
      for (const LadderView& view : ladders) {
        const Row *with = nullptr, *without = nullptr;
        for (const Row* r : view.all) {
          if (r->seconds.empty()) continue;
          if (r->variant == claim.variant) with = r;
          if (r->variant == claim.over) without = r;
        }
        if (with == nullptr || without == nullptr || with->seconds.size() != without->seconds.size())
          continue;
        results.push_back({&claim, view.size, ratio_interval(without->seconds, with->seconds)});
        any = true;
      }
      if (!any) results.push_back({&claim, "", std::nullopt});
    }
  }
  return results;
}

std::string three_digits(double v) {
  return v >= 99.95   ? fmt::format("{:.0f}", v)
         : v >= 9.995 ? fmt::format("{:.1f}", v)
         : v >= 0.1   ? fmt::format("{:.2f}", v)
                      : fmt::format("{:.3g}", v);
}

std::string resources_text(const std::vector<Resource>& resources) {
  if (resources.empty()) return "";
  std::string others;
  for (size_t i = 1; i < resources.size(); ++i)
    others +=
        fmt::format("{}{} {}", i > 1 ? ", " : "", resources[i].ceiling, seconds_text(resources[i].seconds));
  return fmt::format("; at least {}{}", seconds_text(resources.front().seconds),
                     others.empty() ? "" : " (" + others + ")");
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = char(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

}  // namespace klab
