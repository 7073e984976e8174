#include "harness/compare/evidence.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "harness/compare/comparison.h"
#include "harness/core/registry.h"

namespace klab {
namespace {

// more rounds of one process are merged to this number, since neighboring rounds are alike
constexpr size_t kMostRounds = 60;
constexpr size_t kCleanRounds = 3;  // undisturbed rounds that a session needs

std::string ladder_key(const Row& r) {
  return fmt::format("{}|{}|{}|{}", r.op, r.shape, r.threads, cache_state(r.cache));
}

bool is_peer(const std::string& id) {
  const Variant* v = find_variant(id);
  return v != nullptr && v->peer;
}

/// The share of time that each variant's threads wait even if nothing else runs, since waking up takes time: that of the
/// quieter run. More than kDisturbed is no waking up.
using Waits = std::map<std::string, double>;

Waits usual_waits(const Sessions& run) {
  std::map<std::string, std::vector<double>> all;
  for (const auto& [session, ladder] : run)
    for (const auto& [id, row] : ladder)
      all[id].insert(all[id].end(), row->waited.begin(), row->waited.end());
  Waits usual;
  for (const auto& [id, waits] : all)
    if (!waits.empty()) usual[id] = median(waits);
  return usual;
}

Waits quieter(Waits base, const Waits& fresh) {
  for (auto& [id, usual] : base) {
    if (const auto at = fresh.find(id); at != fresh.end()) usual = std::min(usual, at->second);
    usual = std::min(usual, kDisturbed);
  }
  return base;
}

bool disturbed(const Row& r, size_t round, const Waits& usual) {
  if (round >= r.waited.size()) return false;
  const auto at = usual.find(r.variant);
  return r.waited[round] > kDisturbed + (at == usual.end() ? 0 : 2 * at->second);
}

/// Returns log(time / time of the anchor) for the rounds in which neither was disturbed; nothing where the ladder has no
/// such anchor.
std::optional<std::vector<double>> clean_rounds(const Row& row,
                                                const std::map<std::string, const Row*>& ladder,
                                                const std::string& anchor, const Waits& usual) {
  std::vector<double> list;
  const Row* other = nullptr;
  if (anchor != kCeiling && anchor != kClock) {
    const auto at = ladder.find(anchor);
    if (at == ladder.end() || at->second->seconds.size() != row.seconds.size()) return std::nullopt;
    other = at->second;
  }
  for (size_t i = 0; i < row.seconds.size(); ++i) {
    if (anchor == kCeiling && row.shares.empty()) return std::nullopt;
    if (disturbed(row, i, usual) || (other != nullptr && disturbed(*other, i, usual))) continue;
    if (anchor == kCeiling) {
      // The ceiling uses as many threads as the ladder, so anything that delayed a variant may have delayed
      // it as well.
      const bool held_up = std::any_of(ladder.begin(), ladder.end(),
                                       [&](const auto& entry) { return disturbed(*entry.second, i, usual); });
      if (!held_up) list.push_back(-std::log(row.shares[i]));
    } else {
      list.push_back(std::log(row.seconds[i]) - (other ? std::log(other->seconds[i]) : 0));
    }
  }
  return list;
}

/// Returns the median over sessions of the hardware threads that other work kept busy; 0 if it was not
/// recorded.
double usual_others(const Sessions& run) {
  std::vector<double> all;
  for (const auto& [session, ladder] : run)
    for (const auto& [id, row] : ladder)
      if (row->others) all.push_back(*row->others);
  return all.empty() ? 0 : median(all);
}

/// Limits for a quiet session. Other work can slow a variant without making it wait: it shares caches, memory
/// and power, and some variants need more of those than their anchors do.
struct Quiet {
  Waits usual;
  double others = 0;  // hardware threads; sessions with more other work are left out
};

/// Returns one number per session, or the rounds themselves. If the anchor is the ceiling, sessions in which
/// another ceiling was binding give none.
Units units_of(const Sessions& run, const std::string& variant, const std::string& anchor,
               const std::string& ceiling, bool sessions, const Quiet& quiet) {
  Units units;
  for (const auto& [session, ladder] : run) {
    const auto at = ladder.find(variant);
    if (at == ladder.end() || at->second->seconds.empty()) continue;
    if (anchor == kCeiling && at->second->ceiling != ceiling) continue;
    const auto clean = clean_rounds(*at->second, ladder, anchor, quiet.usual);
    if (!clean) continue;
    const size_t all = at->second->seconds.size();
    const bool crowded = at->second->others.value_or(0) > quiet.others;
    const bool few = sessions && clean->size() < std::min(kCleanRounds, all);
    const std::vector<double> rounds = crowded || few ? std::vector<double>() : *clean;
    units.rounds += all;
    units.lost += all - rounds.size();
    if (!sessions) {
      units.values.insert(units.values.end(), rounds.begin(), rounds.end());
      units.left_out += int(all - rounds.size());
      units.all += int(all);
    } else {
      ++units.all;
      if (rounds.empty())
        ++units.left_out;
      else
        units.values.push_back(pseudo_median(rounds));
    }
  }
  if (!sessions && units.values.size() > kMostRounds) {
    const size_t piece = (units.values.size() + kMostRounds - 1) / kMostRounds;
    std::vector<double> merged;
    for (size_t i = 0; i < units.values.size(); i += piece)
      merged.push_back(
          pseudo_median(std::span(units.values).subspan(i, std::min(piece, units.values.size() - i))));
    units.values = std::move(merged);
  }
  return units;
}

/// Returns how well the units repeat: the median distance from their median.
double spread_of(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> away;
  for (const double v : values) away.push_back(std::abs(v - middle));
  return median(away);
}

/// Returns the first rung, the libraries and the ceiling, as far as the base has them.
std::vector<std::string> names_of(const std::string& variant, const Sessions& base) {
  std::set<std::string> ids;
  for (const auto& [session, ladder] : base)
    for (const auto& [id, row] : ladder)
      if (!row->seconds.empty()) ids.insert(id);
  const std::string own = variant.substr(0, variant.rfind('.') + 1);
  std::vector<std::string> names;
  bool first = true;
  for (const std::string& id : ids) {  // in rung order
    const bool naive = first && id.starts_with(own) && !is_peer(id);
    if (naive) first = false;
    if ((naive || is_peer(id)) && id != variant) names.push_back(id);
  }
  names.emplace_back(kCeiling);
  return names;
}

}  // namespace

std::string cache_state(const std::string& cache) { return cache.substr(0, cache.find(':')); }

std::string common_ceiling(const std::string& variant, const Sessions& base, const Sessions& fresh) {
  const auto count = [&](const Sessions& run) {
    std::map<std::string, int> sessions;
    for (const auto& [session, ladder] : run)
      if (const auto at = ladder.find(variant); at != ladder.end() && !at->second->shares.empty())
        ++sessions[at->second->ceiling];
    return sessions;
  };
  const auto work = [&](const Sessions& run) {
    std::set<std::pair<double, double>> all;
    for (const auto& [session, ladder] : run)
      if (const auto at = ladder.find(variant); at != ladder.end())
        all.emplace(at->second->bytes, at->second->flops);
    return all;
  };
  if (work(base) != work(fresh)) return "";  // a share of the ceiling is of another work then
  const auto theirs = count(fresh);
  std::string common;
  int most = 0;
  for (const auto& [name, sessions] : count(base)) {
    const auto at = theirs.find(name);
    const int both = at == theirs.end() ? 0 : std::min(sessions, at->second);
    if (both > most) common = name, most = both;
  }
  return common;
}

std::map<std::string, Sessions> ladders_of(const Recording& run) {
  std::map<std::string, Sessions> ladders;
  for (const Row& r : run.rows) ladders[ladder_key(r)][r.session][r.variant] = &r;
  return ladders;
}

std::vector<Anchor> anchors_of(const std::string& variant, const Sessions& base, const Sessions& fresh,
                               bool sessions, bool absolute, Anchor* most_lost) {
  std::vector<Anchor> list;
  const Quiet quiet{quieter(usual_waits(base), usual_waits(fresh)),
                    std::min(usual_others(base), usual_others(fresh)) + kOthers};
  const std::string ceiling = common_ceiling(variant, base, fresh);
  for (const std::string& name : absolute ? std::vector<std::string>{kClock} : names_of(variant, base)) {
    Anchor a{name, units_of(base, variant, name, ceiling, sessions, quiet),
             units_of(fresh, variant, name, ceiling, sessions, quiet)};
    if (a.base.lost + a.fresh.lost > most_lost->base.lost + most_lost->fresh.lost) *most_lost = a;
    if (int(a.base.values.size()) < kFewestUnits || int(a.fresh.values.size()) < kFewestUnits) continue;
    a.spread = spread_of(a.base.values);
    list.push_back(std::move(a));
  }
  // Use an anchor that lost much to other work only if there is no better one.
  std::stable_sort(list.begin(), list.end(), [](const Anchor& a, const Anchor& b) {
    const auto whole = [](const Anchor& x) { return !x.base.lost_a_third() && !x.fresh.lost_a_third(); };
    return whole(a) != whole(b) ? whole(a) : a.spread < b.spread;
  });
  return list;
}

}  // namespace klab
